"""Words that redaction leaves as they are."""

from __future__ import annotations

from typing import Final

_NAMES: Final = """
true false default kube-system kube-public kube-node-lease default-scheduler kube-scheduler kubelet resource_claim
resourceclaim-controller cpu memory ephemeral-storage pods metadata.name DynamicResources NodeName NodeUnschedulable
TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions VolumeBinding VolumeZone
PodTopologySpread InterPodAffinity DefaultPreemption
"""

_WORDS: Final = """
123-abc a a-z0-9 A-Za-z0-9 about account add admission affinity affinity/selector again all allocate allocated
allocation alone alphanumeric already among an and anew another answer answered answers anti-affinity any API
apimachinery apply are AS as ask asked asking asks assigned at attach attached available AvailableOnNodes back based
be because been before begin being belongs best Bind bind binding binds blocked bound but by calling can canceled
cancelled cannot capacity care case change changed changes character characters claim claimed claims class cluster
collector completed component condition conditions conflict conflicting connection consist constraints contain
context controller conversion convert correct could count create created Creating CSI CSINode deadline deallocate
deallocation delete deleted deleting deletion denied depends did didn didn't disabled disk DNS does doesn doesn't
driver drivers due dynamic e.g e.g. element eligible empty end ends ephemeral error etcdserver Every every evict
evicted eviction exactly example example.com example.com/MyName exceed exceeded excluded exist existent existing
exists expected external failed failure failures fields Filter filter filtered filtering finalizers find finds
finish finished fit fits for Forbidden forbidden found free from fulfilled fully garbage gates get give gone got
group Gt had has have helpful holds host hostname hostPort if ignore Immediate immediate immediately in incoming
information inline Insufficient insufficient integer intent Internal internal into Invalid invalid IS is
isSchedulableAfterClaimChange isSchedulableAfterPodSchedulingContextChange it its keep key label labels latest
leader leaves left length less limiter list local longer look lookup lower lowercase Lt make many match max maximum
may maybe metadata mismatch missing mode modified more most must my.name MyName name names negotiation Never new No
no node node's nodes nominated non non-empty non-existent non-zero none Not not notin object occurred of on one only
Operation operation operator operators optional or other ours out overview owned owner part patch Patching pending
Permit permit permitted persistent PersistentVolume persistentvolume persistentvolumeclaim PersistentVolumeClaims
please plugin Pod pod Pod's pod's PodResourceClaim pods PodSchedulingContext podschedulingcontext
podschedulingcontexts PodSecurity port ports PostBind PostFilter potential potentialNodes pre-bound PreBind
Preemption preemption preemptionPolicy PreEnqueue PreFilter prefilter prefix PreScore process proposed proposes
provide provisioned provisioner provisioning publish q qualified quota ran random rate read-write-once
ReadWriteOncePod reallocated reason reasons refused regex reject rejected remembering remove report request
requested Requesting require required requires Reserve reserve reserved reserves resource ResourceClaim
resourceclaim resourceClaimName resourceclaims ResourceClaimTemplate resourceclaimtemplate resourceClaimTemplateName
ResourceClass resourceclass result RFC room rule rules running s same satisfy say schedulable schedule scheduled
scheduler Scheduling scheduling scope Score score see segments select selected selector selects Server server
service set should single skip so spec spec.resourceClaim specified spread start state stateData status still stop
storage StorageClass storageclass string subdomain Successfully suit suitable supported sysctls t taint taints takes
template terminated terminating terms than that The the them there these this time timed Timeout timeout to tolerate
tolerated toleration tolerations Too topology try trying UID unable unallocated unavailable unbind unbound
unexpected unknown unrelated Unreserve unschedulable unsuitable Unsupported unsupported untolerated up update
updated Updating use used user using v valid validation value values version victims volume volumes volumes' w wait
waiting was watch way webhook were what where which while with without yet you your zone
"""

_OF_DEVICES: Final = """
actual after attribute attributes bool bools bytes called CEL clause compilation compile constraint converted cost
counter currently deallocated deeply Device device DeviceClass devices double doubles dra duplicate duration durations
during elsewhere encountered equal evaluated exceeds expression extended ExtendedResourceClaimStatus Failed finalizer
formatting function gather google.protobuf.Duration google.protobuf.Timestamp here index indexes ints items known
level limit lists mappings maps meantime message NaN negative nested nil NodeSelector non-negative number ordered
offset overflow overload parse parsing pattern perform pool pools precision quantity range regexp repeated repeats
repetition reservation resources ResourceSlice ResourceSlice.NodeSelector retrieve runtime satisfied selection semantic
signable slice status.reservedFor stdlib strings substring such timestamp timestamps too type types unrecognized would
"""

# Names that every cluster has: they tell nothing, and code compares with them.
WELL_KNOWN: Final = frozenset(_NAMES.split())

# The words of kube-scheduler, the claim controller and the API server's validation. A message keeps these and nothing
# else: a word that is in no message of Kubernetes itself may be anybody's secret.
VOCABULARY: Final = frozenset((_WORDS + _OF_DEVICES).split())
