package launch

import (
	"fmt"

	"github.com/rankwright/rankwright/internal/words"
)

// MaxBytes is how much of keys and values one ConfigMap gets. The API takes 1 MiB; the rest is for metadata.
const MaxBytes = 900 << 10

// All lists every file below Folder: first the files that the pods of a copy share, in order of copies, then the files of single pods.
func (b *Bundle) All() []File {
	var files []File
	for i := range b.Copies {
		c := &b.Copies[i]
		files = append(files, File{CopyFile(c.Copy), c.text()})
		files = append(files, c.Files...)
	}
	for i := range b.Pods {
		files = append(files, b.Pods[i].files()...)
	}
	return files
}

// text returns the file of a copy. It sets the arguments even where there are none, since the files of pods append to them.
func (c *CopyEnvironment) text() string {
	if len(c.Arguments) == 0 {
		return c.Shell() + "export " + variableArguments + "=\n"
	}
	return c.Shell()
}

// files returns the pod's own file, and one for each of its processes. A pod's only process needs no file beside the pod's.
func (p *PodEnvironment) files() []File {
	e := &p.Environment
	if len(p.Processes) == 1 {
		e = e.and(&p.Processes[0])
	}
	files := []File{{PodFile(p.Pod), e.shellAfter(Folder + "/" + CopyFile(p.Copy))}}
	if len(p.Processes) > 1 {
		for local := range p.Processes {
			files = append(files, File{processFile(p.Pod, local), p.Processes[local].shellAfter(Folder + "/" + PodFile(p.Pod))})
		}
	}
	return files
}

// ConfigMaps are the data of the ConfigMaps of a bundle, filled in the order of its files. It refuses a file that is larger
// than one of them, and more than MaxParts of them.
func (b *Bundle) ConfigMaps() ([]map[string]string, error) {
	parts := []map[string]string{{}}
	used := 0
	for _, f := range b.All() {
		size := len(f.Name) + len(f.Content)
		if size > MaxBytes {
			return nil, fmt.Errorf("file %s has %d bytes: a ConfigMap takes %d; make fewer ranks or write it from `kubectl rankwright export`", f.Name, size, MaxBytes)
		}
		if used+size > MaxBytes {
			parts, used = append(parts, map[string]string{}), 0
		}
		parts[len(parts)-1][f.Name] = f.Content
		used += size
	}
	if len(parts) > MaxParts {
		return nil, fmt.Errorf("the files of %d pods fill %d ConfigMaps: at most %d are mounted; make larger pods (%s)", len(b.Pods), len(parts), MaxParts, podSize)
	}
	return parts, nil
}

// Digests are what the files say to each pod, by its index: its copy's files and its own. Pods of two bundles for which they are
// equal start in the same way.
func (b *Bundle) Digests() []string {
	digests := make([]string, len(b.Pods))
	shared := make([]string, len(b.Copies))
	for i := range b.Copies {
		shared[i] = digestOf(append([]File{{Content: b.Copies[i].text()}}, b.Copies[i].Files...))
	}
	for i := range b.Pods {
		p := &b.Pods[i]
		digests[i] = digestOf(append(p.files(), File{Content: shared[p.Copy]}))
	}
	return digests
}

func digestOf(files []File) string {
	const digits = 16
	return words.Digest(fmt.Sprintf("%q", files), digits)
}
