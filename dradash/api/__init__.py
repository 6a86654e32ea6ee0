"""REST under /api/v1: typed endpoints (endpoints.py) over the same world as the pages; OpenAPI is derived from them."""
