package launch

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// slots are the hosts of a host file with their slots, in its order.
type slots struct {
	host  string
	count int
}

// read reads a file whose lines match a pattern with a host and a number.
func readHosts(t *testing.T, pattern, text string) []slots {
	t.Helper()
	line := regexp.MustCompile(pattern)
	var all []slots
	for _, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		m := line.FindStringSubmatch(l)
		if m == nil {
			t.Fatalf("line %q does not match %s", l, pattern)
		}
		for _, other := range all {
			if other.host == m[1] {
				t.Fatalf("host %s is there twice", m[1])
			}
		}
		all = append(all, slots{m[1], number(t, m[2])})
	}
	return all
}

// bySlot are the hosts of the ranks when slots are filled in the order of the host file: the mapping `slot` of mpirun(1),
// of Hydra and of DeepSpeed's launcher.
func bySlot(all []slots) []string {
	var ranks []string
	for _, s := range all {
		for range s.count {
			ranks = append(ranks, s.host)
		}
	}
	return ranks
}

func plannedHosts(b *Bundle, copied int) []string {
	var ranks []string
	for _, p := range b.Pods {
		for range p.Ranks {
			if p.Copy == copied {
				ranks = append(ranks, p.Host)
			}
		}
	}
	return ranks
}

var unequal = fixture{
	engine: v1alpha1.EngineMPI, strategy: copies(degrees(1, 1, 3), 2), nodes: []int{2, 3, 1},
	options: Options{Hosts: Hosts{"llm-{pod}.llm"}},
}

func TestOpenMPI(t *testing.T) {
	b := unequal.bundle(t, "openmpi")
	for copied, name := range []string{"copy-0.", "copy-1."} {
		want := plannedHosts(b, copied)
		// mpirun(1) of Open MPI: `host slots=N`.
		if diff := cmp.Diff(want, bySlot(readHosts(t, `^(\S+) slots=(\d+)$`, file(t, b, name+"hostfile")))); diff != "" {
			t.Errorf("host file of copy %d (-want +got):\n%s", copied, diff)
		}
		// mpirun(1): `rank <N>=<hostname> slot=<slot list>`, each rank once.
		ranks := make([]string, len(want))
		line := regexp.MustCompile(`^rank (\d+)=(\S+) slot=(\d+)$`)
		for _, l := range strings.Split(strings.TrimSuffix(file(t, b, name+"rankfile"), "\n"), "\n") {
			m := line.FindStringSubmatch(l)
			if len(m) != 4 || ranks[number(t, m[1])] != "" {
				t.Fatalf("rank file has %q", l)
			}
			ranks[number(t, m[1])] = m[2]
		}
		if diff := cmp.Diff(want, ranks); diff != "" {
			t.Errorf("rank file of copy %d (-want +got):\n%s", copied, diff)
		}
	}
	e := ofPod(t, b, 0)
	read := flags(t, e, "-n --hostfile --map-by", "")
	if diff := cmp.Diff(map[string]string{"-n": "3", "--hostfile": "/etc/rankwright/mesh/copy-0.hostfile", "--map-by": "slot"}, read); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := variable(t, e, "OMPI_MCA_orte_default_hostfile"); got != read["--hostfile"] {
		t.Errorf("the default host file is %s", got)
	}
}

// Hydra reads `host:N` (MPICH's guide), and I_MPI_PERHOST overrules it, so it must say the same or nothing.
func TestHydra(t *testing.T) {
	b := unequal.bundle(t, "mpich")
	for copied, name := range []string{"copy-0.hydra", "copy-1.hydra"} {
		if diff := cmp.Diff(plannedHosts(b, copied), bySlot(readHosts(t, `^([^:\s]+):(\d+)$`, file(t, b, name)))); diff != "" {
			t.Errorf("copy %d (-want +got):\n%s", copied, diff)
		}
	}
	for _, e := range []*Environment{&b.Copies[0].Environment, &b.Copies[1].Environment} {
		if each, there := e.value("I_MPI_PERHOST"); there {
			t.Errorf("each host has %s ranks", each)
		}
	}
	equal := fixture{engine: v1alpha1.EngineMPI, strategy: degrees(1, 1, 4), nodes: []int{2, 2}}.bundle(t, "mpich")
	if got := variable(t, ofPod(t, equal, 0), "I_MPI_PERHOST"); got != "2" {
		t.Errorf("each host has %s ranks", got)
	}
}

func TestHostsOfTheirOwn(t *testing.T) {
	f := fixture{engine: v1alpha1.EngineMPI, strategy: degrees(1, 1, 4), nodes: []int{4}, options: Options{PodDevices: 2}}
	for _, launcher := range []string{"openmpi", "mpich", "tensorrt-llm", "deepspeed", "ray"} {
		f.refused(t, launcher, "pods 0 and 1 are both 10.0.0.0: name each pod")
	}
}
