package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/version"
)

// Flags find a cluster as kubectl does: they are client-go's own, from which kubectl's are made.
type Flags struct {
	files     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
	all       bool
	agents    string
}

// shown are the flags of kubectl that the help of each command shows; `kubectl options` tells of the others.
var shown = map[string]bool{clientcmd.FlagContext: true, clientcmd.RecommendedConfigPathFlag: true, clientcmd.FlagNamespace: true, clientcmd.FlagImpersonate: true}

// agentNamespace is where node agents are installed unless said otherwise.
const agentNamespace = "rankwright-node-agent"

// Add adds the flags to a command.
func (f *Flags) Add(command *cobra.Command) {
	f.files = clientcmd.NewDefaultClientConfigLoadingRules()
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.StringVar(&f.files.ExplicitPath, clientcmd.RecommendedConfigPathFlag, "", "path to the kubeconfig file")
	clientcmd.BindOverrideFlags(&f.overrides, flags, names)
	flags.VisitAll(func(flag *pflag.Flag) { flag.Hidden = !shown[flag.Name] })
	flags.StringVar(&f.agents, "agent-namespace", agentNamespace, "namespace of the node agents, whose Leases say which of them are heard of")
	command.Flags().AddFlagSet(flags)
}

// AddAll adds -A to a command that can look at all namespaces.
func (f *Flags) AddAll(command *cobra.Command) {
	command.Flags().BoolVarP(&f.all, "all-namespaces", "A", false, "all namespaces, not that of -n or of the context alone")
}

// Cluster is a cluster as one user sees it.
type Cluster struct {
	// Namespace is that of the flags, else of the context. Named is that of the flags alone, and empty where all are meant.
	Namespace, Named string
	// All says that all namespaces are meant.
	All bool

	host    string
	agents  string
	config  *rest.Config
	scheme  *runtime.Scheme
	clients map[schema.GroupVersion]rest.Interface
	clock   *clock
}

// What is read, and how much of it at once: a command asks for some kinds in pages.
const (
	requestsPerSecond = 50
	burst             = 100
)

// Connect returns the cluster that the flags name. Nothing is asked of it yet.
func (f *Flags) Connect(streams term.Streams) (*Cluster, error) {
	found := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.files, &f.overrides)
	namespace, _, err := found.Namespace()
	var config *rest.Config
	if err == nil {
		config, err = found.ClientConfig()
	}
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, errors.New("no cluster is configured: name a file with --kubeconfig or KUBECONFIG")
	case err != nil:
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	config.QPS, config.Burst, config.UserAgent = requestsPerSecond, burst, "kubectl-rankwright/"+version.String()
	named := f.overrides.Context.Namespace
	if f.all {
		named = ""
	}
	c := &Cluster{
		Namespace: namespace, Named: named, All: f.all, host: config.Host, agents: f.agents, clients: map[schema.GroupVersion]rest.Interface{}, clock: &clock{now: streams.Clock()},
	}
	config.Wrap(c.clock.watch)
	config.WarningHandler = rest.NewWarningWriter(streams.Err, rest.WarningWriterOptions{Deduplicate: true})
	if err := c.connect(config); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Cluster) connect(config *rest.Config) error {
	c.config, c.scheme = config, runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		v1alpha1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme, corev1.AddToScheme, coordinationv1.AddToScheme, resourcev1.AddToScheme,
	} {
		if err := add(c.scheme); err != nil {
			return fmt.Errorf("kinds of the cluster: %w", err)
		}
	}
	config.NegotiatedSerializer = serializer.NewCodecFactory(c.scheme).WithoutConversion()
	shared, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("client of the cluster: %w", err)
	}
	for _, of := range c.scheme.PrioritizedVersionsAllGroups() {
		own := rest.CopyConfig(config)
		own.GroupVersion, own.APIPath = &of, "/apis"
		if of.Group == "" {
			own.APIPath = "/api"
		}
		if of.Group != v1alpha1.GroupVersion.Group {
			own.ContentType, own.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
		}
		if c.clients[of], err = rest.RESTClientForConfigAndClient(own, shared); err != nil {
			return fmt.Errorf("client of the cluster: %w", err)
		}
	}
	return nil
}

// Name is the address of the API server.
func (c *Cluster) Name() string { return c.host }

// Within is the namespace that is meant; empty where all are.
func (c *Cluster) Within() string {
	if c.All {
		return ""
	}
	return c.Namespace
}

// clock is the time of the API server, by its answers and the clock of this machine since then.
type clock struct {
	now   func() time.Time
	ahead atomic.Int64
}

// Now is the time of the API server.
func (c *clock) Now() time.Time { return c.now().Add(time.Duration(c.ahead.Load())) }

// watch notes the time in the answers of the API server.
func (c *clock) watch(inner http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := inner.RoundTrip(request)
		if err == nil {
			if at, bad := http.ParseTime(response.Header.Get("Date")); bad == nil {
				c.ahead.Store(int64(at.Sub(c.now())))
			}
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip makes it an http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
