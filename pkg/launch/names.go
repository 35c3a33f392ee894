package launch

import "fmt"

// Folder is where pods mount the files, so that variables can name them.
const Folder = "/etc/rankwright/mesh"

// podSize is how a ModelPlacement and the command line say how many devices each pod has.
const podSize = "spec.launch.devicesPerPod of the placement, or --devices-per-pod"

// Variables that every container of a bound pod has.
const (
	VariablePlacement = "RANKWRIGHT_PLACEMENT"
	VariableFolder    = "RANKWRIGHT_MESH_DIR"
	VariableNode      = "RANKWRIGHT_NODE"
	// VariableIndex holds the pod's index, which PodFile is named by.
	VariableIndex     = "RANKWRIGHT_INDEX"
	VariablePlan      = "RANKWRIGHT_PLAN"
	VariableReplica   = "RANKWRIGHT_REPLICA"
	VariableFirstRank = "RANKWRIGHT_FIRST_RANK"
	VariableRanks     = "RANKWRIGHT_RANKS"
	VariableDevices   = "RANKWRIGHT_DEVICES"
)

// Variables of the files that are no launcher's own.
const (
	// variableArguments holds the arguments, to be expanded unquoted: none has blanks.
	variableArguments = "RANKWRIGHT_ARGS"
	// variableCheckpoint holds the id of the checkpoint that the plan was made for, where it is known.
	variableCheckpoint = "RANKWRIGHT_CHECKPOINT"
	// What programs read themselves: the revision of the checkpoint, the format of the weights, the degrees, the layers of each stage, the job.
	variableRevision = "RANKWRIGHT_REVISION"
	variableWeights  = "RANKWRIGHT_WEIGHTS"
	variableDegrees  = "RANKWRIGHT_DEGREES"
	variableSplit    = "RANKWRIGHT_LAYER_SPLIT"
	variableTraining = "RANKWRIGHT_TRAINING"
	// variableDeepSpeed holds the path of a configuration for deepspeed.initialize.
	variableDeepSpeed = "RANKWRIGHT_DEEPSPEED_CONFIG"
	// variableBackend holds what a program gives torch's init_process_group as its backend.
	variableBackend = "RANKWRIGHT_TORCH_BACKEND"
)

// MaxParts is how many ConfigMaps one placement gets at most, so that pods can mount all of them by fixed names.
const MaxParts = 8

// ConfigMapName is the name of one of the ConfigMaps of a mesh, by which its pods mount them: part 0 is `llm-mesh`, part
// 1 `llm-mesh-1` and so on. A mesh has the name of its placement.
func ConfigMapName(mesh string, part int) string {
	if part == 0 {
		return mesh + "-mesh"
	}
	return fmt.Sprintf("%s-mesh-%d", mesh, part)
}

// CopyFile returns the key of the file with what all pods of a copy start with, as lines for a shell.
func CopyFile(copied int) string { return fmt.Sprintf("copy-%d.env", copied) }

// PodFile returns the key of the file with a pod's environment, which reads its copy's file.
func PodFile(pod int) string { return fmt.Sprintf("pod-%d.env", pod) }

// processFile is the key of the environment of one process of a pod, where the pod starts several.
func processFile(pod, local int) string { return fmt.Sprintf("pod-%d.rank-%d.env", pod, local) }
