package replay

import "slices"

// Batch is the work of a step.
type Batch struct {
	// Sequences get a token each, looking back so many tokens in the mean.
	Sequences, Context float64
	// Prompt is the tokens of prompts that are read, Length those of a prompt whose tokens look back as many in the mean, and Finished how many prompts end.
	Prompt, Length, Finished float64
}

// Server is an engine with continuous batching: each step gives a token to every request whose prompt is read, and what is left of its budget reads prompts in
// chunks, those of running requests first. Requests are admitted in their order.
type Server struct {
	// Places is how many requests run at a time at most, Budget the tokens of a step, Room the tokens that the cache holds (0: enough for all).
	Places, Budget, Room int
	// Reserves says that a request is admitted when all that it will hold has room. Else it is admitted when its prompt has, and where what is written has none,
	// the request that came last gives up all that it holds, and is computed again before any other one.
	Reserves bool
	// Admission is the seconds that the API server takes for each request, one after the other, Start those from when it is done to the first step that may read the prompt.
	Admission, Start float64
	// FirstFactor corrects times to the first token; 0 counts as 1.
	FirstFactor float64
	// Clients is how many requests are in flight at most, as of a load generator with so many users; 0 sends each as it arrives.
	Clients int
	// Step returns the seconds of a step.
	Step func(Batch) float64
}

// run is a server at work.
type run struct {
	*Server
	requests         []Request
	served           []Served
	running, waiting []*active
	used             int
	sent, ended      int
	now, open        float64 // open is when the API server is done with what was sent
	result           *Result
	batch            summed
}

// active is a request that was sent.
type active struct {
	id, input, output int
	at                float64 // when the API server is done with it
	read, written     int     // of the prompt, with what is computed again, and of the answer
	again             int     // tokens of the answer that are computed again as part of the prompt
}

func (a *active) prompt() int { return a.input + a.again }

// context is the tokens that a step looks back to which writes the next token.
func (a *active) context() int { return a.input + a.written }

// decodes says whether the prompt is read.
func (a *active) decodes() bool { return a.read == a.prompt() }

// summed are the sums of a step.
type summed struct{ sequences, context, prompt, length, finished float64 }

// Run serves the requests of a trace. Each step a function is told how many have ended; it may be nil. A request that the cache has no room for is left out, and counted.
func (s *Server) Run(t *Trace, progress func(ended int)) *Result {
	r := &Result{}
	r.finish(s.serve(t.Requests, r, progress))
	return r
}

// Spread serves the requests of a trace by so many servers that get them in turn.
func (s *Server) Spread(t *Trace, servers int, progress func(ended int)) *Result {
	r, before := &Result{}, 0
	servers = max(1, min(servers, len(t.Requests)))
	var all []Served
	for i := range servers {
		var part []Request
		for at := i; at < len(t.Requests); at += servers {
			part = append(part, t.Requests[at])
		}
		all = append(all, s.serve(part, r, func(ended int) {
			if progress != nil {
				progress(before + ended)
			}
		})...)
		before += len(part)
	}
	r.finish(all)
	return r
}

// serve serves requests, adds up what it counts in a result, and returns what became of each.
func (s *Server) serve(requests []Request, result *Result, progress func(ended int)) []Served {
	r := &run{Server: s, requests: requests, served: make([]Served, 0, len(requests)), result: result}
	for {
		r.send()
		if len(r.running) == 0 && len(r.waiting) == 0 {
			if r.sent == len(r.requests) {
				break
			}
			r.now = max(r.now, r.requests[r.sent].Arrival)
			continue
		}
		r.step()
		if progress != nil {
			progress(r.ended)
		}
	}
	result.Seconds = max(result.Seconds, r.now)
	if s.FirstFactor > 0 {
		for i := range r.served {
			r.served[i].correct(s.FirstFactor)
		}
	}
	return r.served
}

// send sends what has arrived.
func (r *run) send() {
	for r.sent < len(r.requests) && r.requests[r.sent].Arrival <= r.now && (r.Clients == 0 || r.sent-r.ended < r.Clients) {
		q := r.requests[r.sent]
		at := q.Arrival
		if r.Clients > 0 {
			at = r.now
		}
		r.open = max(r.open, at) + r.Admission
		r.served = append(r.served, Served{Arrival: at, Input: q.Input, Output: q.Output})
		a := &active{id: r.sent, input: q.Input, output: q.Output, at: r.open + r.Start}
		r.sent++
		if r.Room > 0 && a.input+a.output > r.Room {
			r.served[a.id].refused = true
			r.ended++
			r.result.Refused++
			continue
		}
		r.waiting = append(r.waiting, a)
	}
}

// step plans a step, lets its time pass, and ends the requests whose answers are written.
func (r *run) step() {
	r.batch = summed{}
	budget := max(r.Budget, r.Places+1)
	chunks := make([]int, 0, len(r.running)+8)
	preempted := r.decode(&budget)
	chunks, budget = r.readRunning(chunks, budget)
	if preempted == 0 {
		chunks = r.admit(chunks, budget)
	}
	if r.batch.sequences == 0 && r.batch.prompt == 0 { // all that was sent is still with the API server
		r.now = max(r.now, r.waiting[0].at)
		return
	}
	b := &r.batch
	r.now += r.Step(Batch{
		Sequences: b.sequences, Context: b.context / max(1, b.sequences), Prompt: b.prompt, Length: b.length / max(1, b.prompt), Finished: b.finished,
	})
	r.result.Steps++
	r.result.occupied += b.sequences
	r.settle(chunks)
}

// decode gives a token to each running request whose prompt is read, and preempts the last ones where the cache has no room for it.
func (r *run) decode(budget *int) (preempted int) {
	for i := 0; i < len(r.running) && *budget > 0; i++ {
		a := r.running[i]
		if !a.decodes() {
			continue
		}
		for !r.Reserves && r.Room > 0 && r.used >= r.Room && len(r.running) > i {
			r.preempt()
			preempted++
		}
		if i >= len(r.running) {
			break
		}
		*budget--
		r.batch.sequences++
		r.batch.context += float64(a.context())
		if !r.Reserves {
			r.used++
		}
	}
	return preempted
}

// preempt takes the last running request's cache.
func (r *run) preempt() {
	last := r.running[len(r.running)-1]
	r.running = r.running[:len(r.running)-1]
	r.used -= r.holds(last)
	r.result.Preemptions++
	r.result.ComputedAgain += last.read + last.written - last.again
	last.again, last.read = last.written, 0
	r.waiting = slices.Insert(r.waiting, 0, last)
}

// readRunning reads on in the prompts of running requests, in chunks of as many tokens as the budget leaves. The result has as many chunks as there are such requests.
func (r *run) readRunning(chunks []int, budget int) ([]int, int) {
	for _, a := range r.running {
		if a.decodes() {
			continue
		}
		chunk := min(budget, a.prompt()-a.read)
		budget -= chunk
		chunks = append(chunks, r.chunk(a, chunk))
	}
	return chunks, budget
}

// admit starts waiting requests for which there is a place, room and budget.
func (r *run) admit(chunks []int, budget int) []int {
	for len(r.waiting) > 0 && len(r.running) < r.Places && budget > 0 {
		a := r.waiting[0]
		need := a.prompt()
		if r.Reserves {
			need = a.input + a.output
		}
		if a.at > r.now || r.Room > 0 && r.used+need > r.Room {
			break
		}
		r.used += need
		r.waiting = r.waiting[1:]
		r.running = append(r.running, a)
		chunk := min(budget, a.prompt())
		budget -= chunk
		chunks = append(chunks, r.chunk(a, chunk))
	}
	return chunks
}

// chunk adds a chunk of a prompt to the step. Its tokens look back as many tokens in the mean as those of a whole prompt of the sum of where it begins and ends.
func (r *run) chunk(a *active, tokens int) int {
	n := float64(tokens)
	r.batch.prompt += n
	r.batch.length += n * float64(2*a.read+tokens)
	if a.read+tokens == a.prompt() {
		r.batch.finished++
	}
	return tokens
}

// settle ends a step: what decoded has a token more, and so has each prompt that is read.
func (r *run) settle(chunks []int) {
	kept, at := r.running[:0], 0
	decoded := r.batch.sequences > 0
	for _, a := range r.running {
		switch {
		case !a.decodes():
			a.read += chunks[at]
			at++
			if a.decodes() {
				r.wrote(a)
			}
		case decoded:
			r.wrote(a)
		}
		if a.written < a.output {
			kept = append(kept, a)
			continue
		}
		r.served[a.id].Last = r.now
		r.ended++
		r.used -= r.holds(a)
	}
	clear(r.running[len(kept):])
	r.running = kept
}

// holds is what the cache counts for a request between steps: its prompt from when it is admitted, then all but the last token, which the next step stores.
func (r *run) holds(a *active) int {
	switch {
	case r.Reserves:
		return a.input + a.output
	case !a.decodes():
		return a.prompt()
	default:
		return a.context() - 1
	}
}

func (r *run) wrote(a *active) {
	if a.written == 0 {
		r.served[a.id].First = r.now
	}
	a.written++
}
