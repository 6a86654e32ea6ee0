"""What the type checker is told of Kubernetes' CEL environment: one line an overload, in the library's type names.

A signature is `result function(parameters)`; a leading dot makes it a member function, whose first parameter is the
receiver. `T` stands for every element type in turn: the library has no type parameters in declarations.
"""

from __future__ import annotations

from typing import Final

from dradash.scheduling.structured.celkubernetes import FORMATS

QUANTITY: Final = "kubernetes.Quantity"
SEMVER: Final = "kubernetes.Semver"
URL: Final = "kubernetes.URL"
IP: Final = "net.IP"
CIDR: Final = "net.CIDR"
FORMAT: Final = "kubernetes.NamedFormat"
PAIR: Final = "dradash.Pair"
DEVICE: Final = "kubernetes.DRADevice"
ABSTRACT: Final = (QUANTITY, SEMVER, URL, IP, CIDR, FORMAT, PAIR, DEVICE)

# Of Kubernetes' own types only these have a name in expressions (`type(x) == net.IP`).
NAMED_TYPES: Final = (IP, CIDR)

ELEMENTS: Final = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration", "list", "map")

_NUMBERS: Final = ("int", "uint", "double")
_ORDERED: Final = ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration")
_ORDER: Final = ("_<_", "_<=_", "_>_", "_>=_")

# The library's own declarations of these are left out, for ours say more.
REPLACED: Final = (*_ORDER, "string")


def _comparisons() -> list[str]:
    """With CrossTypeNumericComparisons: `1 < 2.0`."""
    pairs = [(k, k) for k in _ORDERED] + [(a, b) for a in _NUMBERS for b in _NUMBERS if a != b]
    return [f"bool {operator}({a}, {b})" for operator in _ORDER for a, b in pairs]


_TEXT: Final = f"""
{QUANTITY} quantity(string)
bool isQuantity(string)
bool .isInteger({QUANTITY})
int .asInteger({QUANTITY})
double .asApproximateFloat({QUANTITY})
int sign({QUANTITY})
{QUANTITY} .add({QUANTITY}, {QUANTITY})
{QUANTITY} .add({QUANTITY}, int)
{QUANTITY} .sub({QUANTITY}, {QUANTITY})
{QUANTITY} .sub({QUANTITY}, int)
bool .isLessThan({QUANTITY}, {QUANTITY})
bool .isGreaterThan({QUANTITY}, {QUANTITY})
int .compareTo({QUANTITY}, {QUANTITY})
{SEMVER} semver(string)
{SEMVER} semver(string, bool)
bool isSemver(string)
bool isSemver(string, bool)
int .major({SEMVER})
int .minor({SEMVER})
int .patch({SEMVER})
bool .isLessThan({SEMVER}, {SEMVER})
bool .isGreaterThan({SEMVER}, {SEMVER})
int .compareTo({SEMVER}, {SEMVER})
{URL} url(string)
bool isURL(string)
string .getScheme({URL})
string .getHost({URL})
string .getHostname({URL})
string .getPort({URL})
string .getEscapedPath({URL})
map<string,list<string>> .getQuery({URL})
string .find(string, string)
list<string> .findAll(string, string)
list<string> .findAll(string, string, int)
{IP} ip(string)
bool isIP(string)
bool ip.isCanonical(string)
int .family({IP})
bool .isUnspecified({IP})
bool .isLoopback({IP})
bool .isLinkLocalMulticast({IP})
bool .isLinkLocalUnicast({IP})
bool .isGlobalUnicast({IP})
string string(string)
string string(bool)
string string(int)
string string(uint)
string string(double)
string string(bytes)
string string(timestamp)
string string(duration)
string string({IP})
string .charAt(string, int)
int .indexOf(string, string)
int .indexOf(string, string, int)
int .lastIndexOf(string, string)
int .lastIndexOf(string, string, int)
string .lowerAscii(string)
string .upperAscii(string)
string .replace(string, string, string)
string .replace(string, string, string, int)
list<string> .split(string, string)
list<string> .split(string, string, int)
string .join(list<string>)
string .join(list<string>, string)
string .substring(string, int)
string .substring(string, int, int)
string .trim(string)
string strings.quote(string)
string .format(string, list)
{CIDR} cidr(string)
bool isCIDR(string)
bool .containsIP({CIDR}, string)
bool .containsIP({CIDR}, {IP})
bool .containsCIDR({CIDR}, string)
bool .containsCIDR({CIDR}, {CIDR})
{IP} .ip({CIDR})
{CIDR} .masked({CIDR})
int .prefixLength({CIDR})
string string({CIDR})
list<{FORMAT}> format.named__(string)
list<list<string>> .validate__({FORMAT}, string)
bool .isSorted(list<T>)
T .sum(list<T>)
T .min(list<T>)
T .max(list<T>)
int .indexOf(list<T>, T)
int .lastIndexOf(list<T>, T)
list<T> .slice(list<T>, int, int)
list .flatten(list)
list .flatten(list, int)
list<T> .sort(list<T>)
list<T> .distinct(list<T>)
list<T> .reverse(list<T>)
list<int> lists.range(int)
bool sets.contains(list<T>, list<T>)
bool sets.equivalent(list<T>, list<T>)
bool sets.intersects(list<T>, list<T>)
{PAIR} pair__(dyn, dyn)
list<{PAIR}> .pairs__(map)
list<{PAIR}> .pairs__(list)
dyn .key__({PAIR})
any .value__({PAIR})
list .sorted__(list<{PAIR}>)
map .map__(list<{PAIR}>)
map .merged__(list<map>)
"""

DEVICE_MAPS: Final = ("device.attributes", "device.capacity")  # of these fields, as variables
DEVICE_FIELDS: Final = {
    "driver": "string",
    "attributes": "map<string,map<string,any>>",
    "capacity": f"map<string,map<string,{QUANTITY}>>",
    "allowMultipleAllocations": "bool",
}
# Where `device` is a value (celdevice).
DEVICE_SIGNATURES: Final = (
    *(f"{result} .{field}__({DEVICE})" for field, result in DEVICE_FIELDS.items()),
    *(f"list<{result}> .{field}_one__({DEVICE})" for field, result in DEVICE_FIELDS.items()),
    f"bool .has__({DEVICE})",
)

SIGNATURES: Final = (
    *(line for line in _TEXT.splitlines() if line),
    *(f"{FORMAT} format.{name}()" for name in FORMATS),
    *_comparisons(),
)
