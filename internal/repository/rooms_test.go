package repository

// A room is a folder with what lies below it. Its packages import one another as they like, and other rooms as its row says.
type room struct {
	folder string
	// imports are the rooms that it may import. Each has a row above this one, so that imports run one way.
	imports []string
	// world lists what it may import of worldly.
	world []string
}

// worldly are the packages, with those below them, by which code sees more than its arguments or answers differently the
// next time. A room that may not import them is pure.
var worldly = []string{
	"crypto/rand", "github.com/ebitengine/purego", "golang.org/x/sys", "k8s.io/cli-runtime", "k8s.io/client-go", "math/rand", "net", "os",
	"sigs.k8s.io/controller-runtime", "syscall", "time",
}

// harmless are packages below worldly ones that compute alone.
var harmless = []string{"k8s.io/cli-runtime/pkg/printers", "k8s.io/client-go/applyconfigurations", "k8s.io/client-go/util/jsonpath", "net/netip", "net/url"}

const (
	api   = "api/v1alpha1"
	words = "internal/words"
)

// rooms are all folders with code of the product, in the order in which a fact travels. A package is in the room with the longest
// folder that holds it. A new room takes the row that says what it may know, and the fewest imports that will do.
var rooms = []room{
	{folder: api},
	{folder: words},
	{folder: "internal/strict"},
	{folder: "internal/version"},
	{folder: "internal/await", world: []string{"time"}},
	{folder: "internal/measure"},
	{folder: "internal/measure/measuretest"},
	{folder: "internal/apicall", world: []string{"net"}},
	{folder: "internal/access", world: []string{"k8s.io/client-go", "net", "time"}},
	{folder: "internal/repository", world: []string{"os"}},
	{folder: "internal/facts", imports: []string{"internal/repository"}, world: []string{"os"}},
	{folder: "internal/installation", imports: []string{api}, world: []string{"sigs.k8s.io/controller-runtime", "time"}},

	// What a device is, how a host is read, and how that is told.
	{folder: "internal/nvml/report"},
	{folder: "internal/nvml/nvmltest", imports: []string{"internal/nvml/report", "internal/repository"}, world: []string{"os"}},
	{folder: "internal/nvml", imports: []string{"internal/nvml/report"}, world: []string{"github.com/ebitengine/purego", "os", "time"}},
	{folder: "pkg/accelerator", imports: []string{api, words}},
	{folder: "pkg/inventory", imports: []string{api, words, "pkg/accelerator"}},
	{
		folder: "pkg/detect", imports: []string{api, words, "internal/nvml/report", "pkg/accelerator", "pkg/inventory"},
		world: []string{"golang.org/x/sys", "os", "syscall", "time"},
	},
	{folder: "pkg/survey", imports: []string{api, words, "pkg/detect", "pkg/inventory"}, world: []string{"time"}},
	{folder: "pkg/price", imports: []string{words, "pkg/accelerator"}, world: []string{"time"}},

	// What a model is, what runs it, what it takes and how long.
	{folder: "pkg/engine", imports: []string{api}},
	{folder: "pkg/model", imports: []string{api, words}},
	{folder: "pkg/occupancy"},
	{folder: "pkg/replay", world: []string{"time"}},
	{folder: "pkg/memory", imports: []string{api, words, "pkg/engine", "pkg/model", "pkg/occupancy"}},
	{folder: "pkg/cost", imports: []string{api, words, "pkg/accelerator", "pkg/engine", "pkg/memory", "pkg/model"}},

	// From a plan to ranks, files of launchers and pods.
	{folder: "pkg/mesh", imports: []string{api, words, "pkg/engine"}},
	{folder: "pkg/mesh/collective", world: []string{"crypto/rand", "github.com/ebitengine/purego", "net", "os", "time"}},
	{folder: "pkg/launch", imports: []string{api, words, "internal/strict", "pkg/engine", "pkg/mesh"}, world: []string{"net"}},
	{
		folder: "pkg/mesh/verification", imports: []string{api, words, "internal/strict", "pkg/launch", "pkg/mesh", "pkg/mesh/collective"},
		world: []string{"net", "os", "time"},
	},
	{
		folder: "pkg/mesh/verification/devicelib/devicelibtest", imports: []string{"internal/repository", "pkg/mesh/verification"},
		world: []string{"os"},
	},
	{folder: "pkg/binding", imports: []string{api, words, "pkg/engine", "pkg/launch", "pkg/mesh/verification"}},

	// From a cluster and a request to a plan.
	{folder: "pkg/fleet", imports: []string{api, words, "pkg/accelerator"}},
	{folder: "pkg/holding", imports: []string{api, "pkg/fleet", "pkg/inventory", "pkg/price"}},
	{
		folder:  "pkg/shape",
		imports: []string{api, words, "pkg/accelerator", "pkg/cost", "pkg/engine", "pkg/fleet", "pkg/memory", "pkg/model", "pkg/occupancy", "pkg/price"},
	},
	{
		folder:  "pkg/estimate",
		imports: []string{api, words, "pkg/accelerator", "pkg/cost", "pkg/engine", "pkg/fleet", "pkg/memory", "pkg/model", "pkg/occupancy", "pkg/price", "pkg/replay", "pkg/shape"},
	},
	{
		folder: "pkg/site", imports: []string{api, words, "pkg/accelerator", "pkg/cost", "pkg/engine", "pkg/estimate", "pkg/model"}, world: []string{"time"},
	},
	{folder: "pkg/plan/pipeline"},
	{folder: "pkg/plan/place", imports: []string{api, "pkg/cost", "pkg/engine", "pkg/plan/pipeline", "pkg/shape"}},
	{folder: "pkg/plan/search", imports: []string{api, words, "pkg/cost", "pkg/fleet", "pkg/plan/place", "pkg/shape"}},
	{folder: "pkg/plan/remedy", imports: []string{api, words, "pkg/fleet", "pkg/plan/search", "pkg/shape"}},
	{folder: "pkg/plan/explain", imports: []string{api, words, "pkg/cost", "pkg/fleet", "pkg/memory", "pkg/plan/search", "pkg/shape"}},
	{folder: "pkg/plan", imports: []string{
		api, words, "pkg/cost", "pkg/fleet", "pkg/plan/place", "pkg/plan/remedy", "pkg/plan/search", "pkg/shape",
	}},
	{folder: "pkg/why", imports: []string{api, words, "pkg/binding", "pkg/engine", "pkg/fleet", "pkg/holding", "pkg/shape"}},
	{folder: "pkg/plan/synthetic", imports: []string{api, "pkg/accelerator", "pkg/fleet", "pkg/inventory"}, world: []string{"math/rand"}},

	// The shell: it reads, asks the rooms above and applies. An agent knows neither models nor plans, an operator no host.
	{folder: "pkg/nodeagent", imports: []string{api, words, "internal/access", "internal/await", "internal/measure", "internal/nvml/report", "pkg/detect", "pkg/inventory", "pkg/survey"}, world: worldly},
	{folder: "controllers", imports: []string{
		api, words, "internal/access", "internal/apicall", "internal/measure", "pkg/binding", "pkg/engine", "pkg/estimate", "pkg/fleet", "pkg/launch", "pkg/mesh", "pkg/mesh/verification", "pkg/model", "pkg/plan", "pkg/price", "pkg/shape", "pkg/site",
	}, world: worldly},
	{folder: "internal/cli/term", imports: []string{api, words, "pkg/mesh"}, world: []string{"os", "time"}},
	{
		folder: "internal/cli/cluster", imports: []string{api, words, "internal/cli/term", "internal/version", "pkg/holding", "pkg/why"},
		world: []string{"k8s.io/client-go", "net", "time"},
	},
	{folder: "internal/cli/page", imports: []string{api, words, "pkg/fleet", "pkg/holding", "pkg/mesh", "pkg/why"}, world: []string{"crypto/rand", "net", "time"}},
	{folder: "internal/cli", imports: []string{
		api, words, "internal/cli/cluster", "internal/cli/page", "internal/cli/term", "internal/version", "pkg/accelerator", "pkg/binding", "pkg/cost", "pkg/detect", "pkg/engine",
		"pkg/estimate", "pkg/fleet", "pkg/holding", "pkg/inventory", "pkg/launch", "pkg/memory", "pkg/mesh", "pkg/model", "pkg/plan", "pkg/plan/explain", "pkg/plan/synthetic",
		"pkg/price", "pkg/replay", "pkg/shape", "pkg/site", "pkg/why",
	}, world: []string{"os", "time"}},
	{folder: "internal/cli/clitest", imports: []string{"internal/cli/term", "internal/repository"}, world: worldly},

	// Programs: flags and wiring.
	{folder: "cmd/kubectl-rankwright", imports: []string{"internal/cli", "internal/cli/term"}, world: worldly},
	{folder: "cmd/node-agent", imports: []string{"internal/version", "pkg/detect", "pkg/mesh/verification", "pkg/nodeagent", "pkg/survey"}, world: worldly},
	{folder: "cmd/node-helper", imports: []string{"internal/version", "pkg/detect", "pkg/nodeagent"}, world: worldly},
	{folder: "cmd/operator", imports: []string{"controllers", "internal/installation"}, world: worldly},
	{folder: "cmd/rankwright-cdi", imports: []string{"internal/version", "pkg/detect", "pkg/nodeagent"}, world: worldly},
	{folder: "cmd/rankwright-nccl", imports: []string{"internal/version", "pkg/mesh/collective", "pkg/mesh/verification"}, world: worldly},
	{folder: "cmd/rankwright-nvml", imports: []string{"internal/nvml", "internal/nvml/report", "internal/version"}, world: worldly},
	{folder: "examples/allreduce", imports: []string{"pkg/launch", "pkg/mesh", "pkg/mesh/collective"}, world: worldly},

	// The tour of the packages, in their doc.go.
	{folder: "pkg"},

	// Tests between packages, and tools: they import what they need, and no room of the product imports them.
	{folder: "test", world: worldly},
	{folder: "tools", world: worldly},
}

// exceptions are the rules that are broken today, each with what will end it. One that is broken no longer fails the tests:
// remove it.
var exceptions = map[string]string{}
