# One image for every process; docker-compose.yml says which one runs.
FROM python:3.11-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /app

# The pinned tree first: it changes less often than the code.
COPY requirements/run.txt requirements/run.txt
RUN pip install -r requirements/run.txt

COPY manage.py pyproject.toml LICENSE README.md ./
COPY dradash dradash
COPY templates templates
COPY static static
RUN python -m compileall -q dradash

# No name, only a number: works under any policy that forbids root, and with any --user.
USER 10001:10001
EXPOSE 8000
CMD ["python", "manage.py", "web"]
