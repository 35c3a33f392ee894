package launch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/engine"
)

// launcher is how one launcher is told who it starts. Each function may be nil: nothing is to be checked or written.
type launcher struct {
	name string
	// of is the engine whose own command the launcher is; nil where it starts any program.
	of *engine.Engine
	// vendor is the only vendor of devices that it starts programs on, and devices what they are called; empty where any will do.
	vendor, devices string
	// check says why the launcher cannot start the pods of a copy, whatever they are called.
	check func(*Copy) error
	// listsHosts is set where the launcher tells pods apart by their hosts.
	listsHosts bool
	// files makes the files that the pods of a copy share.
	files func(*Job, *Copy) ([]File, error)
	// shared adds what all pods of a copy are started with, pod what each pod has in addition, and rank what the process
	// of each rank has in addition to its pod.
	shared func(*Copy, *Environment)
	pod    func(*Copy, *Pod, *Environment)
	rank   func(p *Pod, local int, e *Environment)
}

// launchers are all that are known.
var launchers = []launcher{
	plainEnv, torchrun, vllm, sglang, tensorRTLLM, openMPI, hydra, deepSpeed, megatron, jax, tpu, neuron, hccl, ray, groups,
}

// Names returns the names of the launchers.
func Names() []string {
	names := make([]string, len(launchers))
	for i := range launchers {
		names[i] = launchers[i].name
	}
	return names
}

func find(name string) (*launcher, error) {
	for i := range launchers {
		if strings.EqualFold(launchers[i].name, name) {
			return &launchers[i], nil
		}
	}
	return nil, fmt.Errorf("launcher %q is unknown: use one of %s", name, strings.Join(Names(), ", "))
}

// File is a file that pods of a copy share. Name is its name below Folder.
type File struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

// CopyEnvironment is what all pods of a copy are started with.
type CopyEnvironment struct {
	Copy  int `json:"copy"`
	World int `json:"worldSize"`
	Environment
	// Files are the files that the pods of the copy share.
	Files []File `json:"files,omitempty"`
}

// PodEnvironment is what a pod is started with beside the environment of its copy.
type PodEnvironment struct {
	Pod    int    `json:"pod"`
	Copy   int    `json:"copy"`
	Worker int    `json:"worker"`
	Node   string `json:"node"`
	Host   string `json:"host"`
	Ranks  []int  `json:"ranks"`
	Environment
	// Processes is what the process of each rank has beside the pod's environment, where the pod starts the processes itself.
	Processes []Environment `json:"processes,omitempty"`
}

// Bundle is what launchers need.
type Bundle struct {
	Launchers []string          `json:"launchers"`
	Copies    []CopyEnvironment `json:"copies"`
	Pods      []PodEnvironment  `json:"pods"`
	// Skipped says which launchers that the engine could use were left out, and why.
	Skipped []string `json:"skipped,omitempty"`
}

// Write writes a placement down for a launcher by its name or, where that is empty, for the launchers of its engine and of its devices'
// runtime. Of the latter only the first must be possible: what else is not is left out, with the reason.
func (j *Job) Write(launcher string) (*Bundle, error) {
	if launcher != "" {
		return j.write([]string{launcher})
	}
	e, err := engine.Find(j.Engine)
	if err != nil {
		return nil, err
	}
	if err := j.runsOn(e); err != nil {
		return nil, err
	}
	names := slices.Clone(e.Launchers)
	for i := range launchers {
		if v := launchers[i].vendor; v != "" && v == vendorOf(&j.Copies[0]) {
			names = append(names, launchers[i].name)
		}
	}
	return j.write(names)
}

func (j *Job) write(names []string) (*Bundle, error) {
	b := &Bundle{}
	for i := range j.Copies {
		c := &j.Copies[i]
		b.Copies = append(b.Copies, CopyEnvironment{Copy: c.Number, World: c.World})
		for k := range c.Pods {
			p := &c.Pods[k]
			b.Pods = append(b.Pods, PodEnvironment{Pod: p.Index, Copy: p.Copy, Worker: p.Worker, Node: p.Node, Host: p.Host, Ranks: p.Ranks})
		}
	}
	for i, name := range names {
		l, err := find(name)
		if err != nil {
			return nil, err
		}
		switch files, err := j.filesFor(l); {
		case err == nil:
			b.add(j, l, files)
		case i == 0:
			return nil, err
		default:
			b.Skipped = append(b.Skipped, err.Error())
		}
	}
	if first, err := find(names[0]); err == nil && first.of != nil && len(first.of.Arguments) > 0 {
		if err := b.check(first.of); err != nil {
			return nil, fmt.Errorf("%s cannot be started so: %w", first.of.Name, err)
		}
	}
	return b, nil
}

// filesFor returns the files of a launcher for each copy, or says why it cannot start the placement or lacks something for them.
func (j *Job) filesFor(l *launcher) ([][]File, error) {
	if l.of != nil {
		if err := j.runsOn(l.of); err != nil {
			return nil, err
		}
	}
	files := make([][]File, len(j.Copies))
	for i := range j.Copies {
		var err error
		if files[i], err = l.start(j, &j.Copies[i]); err != nil {
			return nil, fmt.Errorf("%s cannot start copy %d: %w", l.name, i, err)
		}
	}
	return files, nil
}

// start returns the files with which a launcher starts a copy.
func (l *launcher) start(j *Job, c *Copy) ([]File, error) {
	if v := vendorOf(c); l.vendor != "" && l.vendor != v {
		return nil, fmt.Errorf("its devices are of %s, not %s", v, l.devices)
	}
	if l.check != nil {
		if err := l.check(c); err != nil {
			return nil, err
		}
	}
	if l.listsHosts {
		if err := c.ownHosts(); err != nil {
			return nil, err
		}
	}
	if l.files == nil {
		return nil, nil
	}
	return l.files(j, c)
}

// add adds what a launcher needs beside its files.
func (b *Bundle) add(j *Job, l *launcher, files [][]File) {
	b.Launchers = append(b.Launchers, l.name)
	for i := range j.Copies {
		c := &j.Copies[i]
		b.Copies[i].Files = append(b.Copies[i].Files, files[i]...)
		if l.shared != nil {
			l.shared(c, &b.Copies[i].Environment)
		}
		for k := range c.Pods {
			l.addPod(c, &c.Pods[k], &b.Pods[c.Pods[k].Index])
		}
	}
}

func (l *launcher) addPod(c *Copy, p *Pod, e *PodEnvironment) {
	if l.pod != nil {
		l.pod(c, p, &e.Environment)
	}
	if l.rank == nil {
		return
	}
	if e.Processes == nil {
		e.Processes = make([]Environment, len(p.Ranks))
	}
	for local := range e.Processes {
		l.rank(p, local, &e.Processes[local])
	}
}

// OfPod returns the whole environment of a pod, its copy's and its own, by the pod's index in the placement.
func (b *Bundle) OfPod(pod int) (*Environment, error) {
	if pod < 0 || pod >= len(b.Pods) {
		return nil, fmt.Errorf("there is no pod %d: the placement has pods 0 to %d", pod, len(b.Pods)-1)
	}
	p := &b.Pods[pod]
	return b.Copies[p.Copy].and(&p.Environment), nil
}

// OfRank returns the whole environment of a rank's process: its pod's, and what the rank has beside it. copied and rank count
// from 0.
func (b *Bundle) OfRank(copied, rank int) (*Environment, error) {
	for i := range b.Pods {
		p := &b.Pods[i]
		local, there := slices.BinarySearch(p.Ranks, rank)
		if p.Copy != copied || !there {
			continue
		}
		e, err := b.OfPod(i)
		if err == nil && p.Processes != nil {
			e = e.and(&p.Processes[local])
		}
		return e, err
	}
	if copied < 0 || copied >= len(b.Copies) {
		return nil, fmt.Errorf("there is no copy %d: the placement has copies 0 to %d", copied, len(b.Copies)-1)
	}
	return nil, fmt.Errorf("there is no rank %d: copy %d has ranks 0 to %d", rank, copied, b.Copies[copied].World-1)
}

// fileName is the name of a file of a copy.
func (c *Copy) fileName(name string) string { return fmt.Sprintf("copy-%d.%s", c.Number, name) }

// jsonFile is a file of a copy that holds an object.
func (c *Copy) jsonFile(name string, object any) ([]File, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return []File{{c.fileName(name), string(text) + "\n"}}, nil
}

// path is where pods find a file of a copy.
func (c *Copy) path(name string) string { return Folder + "/" + c.fileName(name) }
