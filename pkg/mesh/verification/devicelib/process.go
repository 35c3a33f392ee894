package devicelib

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// Process is the program while it runs. It is asked by one goroutine at a time.
type Process struct {
	path   string
	loaded Loaded
	run    *run
}

// run is one run of the program.
type run struct {
	command *exec.Cmd
	in      io.WriteCloser
	answers chan answer
	said    *tail
}

// startTime is what loading a library and looking for devices may take: CUDA initialises each GPU of a host, which takes
// seconds where no other process uses them.
const startTime = time.Minute

// Start starts the program and has it load a library. The error says what is missing.
func Start(ctx context.Context, path string) (*Process, error) {
	p := &Process{path: path}
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// Loaded returns what the program has loaded.
func (p *Process) Loaded() Loaded { return p.loaded }

func (p *Process) start(ctx context.Context) error {
	command := exec.Command(p.path) //nolint:gosec // the program that is installed beside this one
	in, err := command.StdinPipe()
	if err != nil {
		return err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	r := &run{command: command, in: in, answers: make(chan answer), said: new(tail)}
	command.Stderr = r.said
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.path, err)
	}
	go r.read(out)
	p.run = r
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	first, err := r.next(ctx)
	if err == nil && first.Loaded == nil {
		err = errors.New(first.Error)
	}
	if err != nil {
		p.Close()
		return err
	}
	p.loaded = *first.Loaded
	return nil
}

// read passes on what the program prints until it ends.
func (r *run) read(out io.Reader) {
	defer close(r.answers)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var a answer
		if json.Unmarshal(line, &a) == nil { // libraries print to standard output, too
			r.answers <- a
		}
	}
}

func (r *run) next(ctx context.Context) (answer, error) {
	select {
	case a, open := <-r.answers:
		if !open {
			return answer{}, fmt.Errorf("%s ended: %s", Program, r.said)
		}
		return a, nil
	case <-ctx.Done():
		return answer{}, fmt.Errorf("%s gave no answer: %w", Program, ctx.Err())
	}
}

// ask asks for something. A program that does not answer in time is killed, and started again for the next question.
func (p *Process) ask(ctx context.Context, q *request) (answer, error) {
	if p.run == nil {
		if err := p.start(ctx); err != nil {
			return answer{}, err
		}
	}
	line, err := json.Marshal(q)
	if err != nil {
		return answer{}, err
	}
	if _, err = p.run.in.Write(append(line, '\n')); err != nil {
		err = fmt.Errorf("%s ended: %s", Program, p.run.said)
	}
	var a answer
	if err == nil {
		a, err = p.run.next(ctx)
	}
	switch {
	case err != nil:
		p.Close()
		return answer{}, err
	case a.Error != "":
		return answer{}, errors.New(a.Error)
	default:
		return a, nil
	}
}

// IDs makes so many ids.
func (p *Process) IDs(ctx context.Context, count int) ([][]byte, error) {
	a, err := p.ask(ctx, &request{IDs: count})
	if err == nil && len(a.IDs) != count {
		err = fmt.Errorf("%s made %d ids of %d", Program, len(a.IDs), count)
	}
	return a.IDs, err
}

// killGrace is what the program may take longer than its jobs.
const killGrace = 2 * time.Second

// Do does jobs at the same time, in a time for all of them. A result for each tells what became of it, whatever became of the
// program.
func (p *Process) Do(ctx context.Context, jobs []Job, patience time.Duration) []Result {
	ctx, cancel := context.WithTimeout(ctx, patience+killGrace)
	defer cancel()
	a, err := p.ask(ctx, &request{Jobs: jobs, Millis: patience.Milliseconds()})
	if err == nil && len(a.Results) != len(jobs) {
		err = fmt.Errorf("%s gave %d results of %d", Program, len(a.Results), len(jobs))
	}
	if err == nil {
		return a.Results
	}
	return slices.Repeat([]Result{{Error: err.Error()}}, len(jobs))
}

// Close ends the program. A program that is stuck in a driver is left behind: it ends when the driver lets go.
func (p *Process) Close() {
	r := p.run
	if r == nil {
		return
	}
	p.run = nil
	_ = r.in.Close()
	_ = r.command.Process.Kill()
	ended := make(chan struct{})
	go func() {
		for range r.answers { // until the reader has seen the end
		}
		_ = r.command.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(killGrace):
	}
}

// tail keeps the last of what the program said.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const maxTail = 512

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	return len(p), nil
}

// String returns the last line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.text), ""))
	if text == "" {
		return "it said nothing"
	}
	return text[strings.LastIndex(text, "\n")+1:]
}
