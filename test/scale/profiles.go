package scale

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
)

// profiles writes what a process takes of the processors, and what of its memory lives at the end, two files a phase.
type profiles struct {
	// folder takes the files; empty writes none.
	folder string

	mu   sync.Mutex
	file *os.File
}

// begin writes a new profile from now on, with the name of a phase.
func (p *profiles) begin(phase string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.folder == "" {
		return nil
	}
	err := p.close()
	if err == nil {
		err = os.MkdirAll(p.folder, 0o750)
	}
	if err == nil {
		p.file, err = os.Create(filepath.Join(p.folder, fmt.Sprintf("%s-%d.pprof", phase, os.Getpid())))
	}
	if err == nil {
		err = pprof.StartCPUProfile(p.file)
	}
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return nil
}

// end ends the profile that is being written.
func (p *profiles) end() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.close()
}

func (p *profiles) close() error {
	if p.file == nil {
		return nil
	}
	pprof.StopCPUProfile()
	file := p.file
	p.file = nil
	if err := errors.Join(file.Close(), heap(strings.TrimSuffix(file.Name(), ".pprof")+".heap.pprof")); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return nil
}

func heap(name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("heap").WriteTo(file, 0), file.Close())
}

// next begins the profile of the phase that a request names.
func (p *profiles) next(w http.ResponseWriter, request *http.Request) {
	if err := p.begin(request.FormValue("name")); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
