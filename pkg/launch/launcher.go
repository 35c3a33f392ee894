package launch

import (
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
	// check says why the launcher cannot start a copy.
	check func(*Copy) error
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

// For writes a placement down for one launcher, by its name. It says why where the launcher cannot start it.
func (j *Job) For(name string) (*Bundle, error) {
	l, err := find(name)
	if err != nil {
		return nil, err
	}
	if err := j.can(l); err != nil {
		return nil, err
	}
	return j.bundle(l)
}

// can says why a launcher cannot start the placement.
func (j *Job) can(l *launcher) error {
	if l.of != nil {
		if err := j.runsOn(l.of); err != nil {
			return err
		}
	}
	for i := range j.Copies {
		if l.check == nil {
			return nil
		}
		if err := l.check(&j.Copies[i]); err != nil {
			return fmt.Errorf("%s cannot start copy %d: %w", l.name, i, err)
		}
	}
	return nil
}

// bundle joins what launchers need, which must not check anything more.
func (j *Job) bundle(used ...*launcher) (*Bundle, error) {
	b := &Bundle{}
	for _, l := range used {
		b.Launchers = append(b.Launchers, l.name)
	}
	for i := range j.Copies {
		c := &j.Copies[i]
		shared, err := j.shared(c, used)
		if err != nil {
			return nil, err
		}
		b.Copies = append(b.Copies, *shared)
		for k := range c.Pods {
			b.Pods = append(b.Pods, environmentOf(c, &c.Pods[k], used))
		}
	}
	return b, nil
}

func (j *Job) shared(c *Copy, used []*launcher) (*CopyEnvironment, error) {
	e := &CopyEnvironment{Copy: c.Number, World: c.World}
	for _, l := range used {
		if l.shared != nil {
			l.shared(c, &e.Environment)
		}
		if l.files == nil {
			continue
		}
		files, err := l.files(j, c)
		if err != nil {
			return nil, fmt.Errorf("%s cannot start copy %d: %w", l.name, c.Number, err)
		}
		e.Files = append(e.Files, files...)
	}
	return e, nil
}

func environmentOf(c *Copy, p *Pod, used []*launcher) PodEnvironment {
	e := PodEnvironment{Pod: p.Index, Copy: p.Copy, Worker: p.Worker, Node: p.Node, Host: p.Host, Ranks: p.Ranks}
	for _, l := range used {
		if l.pod != nil {
			l.pod(c, p, &e.Environment)
		}
	}
	if !slices.ContainsFunc(used, func(l *launcher) bool { return l.rank != nil }) {
		return e
	}
	e.Processes = make([]Environment, len(p.Ranks))
	for i := range e.Processes {
		for _, l := range used {
			if l.rank != nil {
				l.rank(p, i, &e.Processes[i])
			}
		}
	}
	return e
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

// path is where pods find a file of a copy.
func (c *Copy) path(name string) string { return Folder + "/" + c.fileName(name) }
