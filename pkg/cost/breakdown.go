package cost

import (
	"cmp"
	"math"
)

// Operator is a part of a step on each rank of a stage, summed over the layers that have it. Reading and computing
// overlap, so Seconds is the smooth maximum of both, added up layer by layer, plus Fixed and the time of Sent.
type Operator struct {
	// Name is one of projections, attention, recurrence, dense blocks, shared experts, routed experts, encoder, images and sound, head,
	// residual stream, all-reduces, expert exchange, context exchange, adapters and launches.
	Name string
	// Layers is the number of layers that have the operator; 0 at the ends of the model.
	Layers int
	// Bytes are read from the device's memory at ReadRate in bytes per second.
	Bytes, ReadRate float64
	// Operations are computed at ComputeRate in operations per second.
	Operations, ComputeRate float64
	// Sent are the bytes that a rank sends at SendRate in bytes per second, in Messages collectives.
	Sent, SendRate float64
	Messages       int
	// Fixed is the seconds that do not depend on the size: launches, and the start of collectives.
	Fixed float64
	// Seconds is the operator's time, everything included.
	Seconds float64
}

// StageStep is the time of a batch in a stage, in seconds.
type StageStep struct {
	// First is the first layer from 0, End the one after the last.
	First, End int
	Operators  []Operator
	// Transfer is the time to send the result to the next stage.
	Transfer float64
	// Seconds is the sum of operators and transfer.
	Seconds float64
}

// Step is a step of the engine: a batch that passes the stages.
type Step struct {
	// Sequences is how many sequences decode a token each, Prompt how many tokens of prompts are read, over all
	// attention-data-parallel groups and stages.
	Sequences, Prompt float64
	Stages            []StageStep
	// Devices is the time of the devices: that of the slowest stage, over the share of the time in which stages work.
	Devices float64
	// Host is the host's work that overlaps with the devices' time, Fixed the host's other work.
	Host, Fixed float64
	// Drafting is the time to draft the tokens that the batch verifies.
	Drafting float64
	// Rounds is the number of shares of the batch that follow one another: one for each stage.
	Rounds int
	// Seconds is Rounds x (smooth maximum of Devices and Host + Fixed + Drafting).
	Seconds float64
}

// Breakdown is the arithmetic of Serve where requests never run out (Workload.Requests is 0). Times are in seconds, and have the query's correction;
// the parts have not.
type Breakdown struct {
	Times
	// Decode is a step without prompts, Mixed a step that carries a chunk of them. The Output tokens come from Turns steps, of which
	// MixedSteps are mixed ones; TPOT is the mean over all.
	Decode, Mixed             Step
	Output, Turns, MixedSteps float64
	// Prompt is the time to read a prompt alone, in Chunks passes; Chunk is the longest pass through the stages.
	Prompt float64
	Chunk  Step
	Chunks float64
	// Copying is the time to copy what a request needs of the host's memory. Start is the time from arrival to the first step. Ahead is how many prompts a request waits for, Joining the half
	// step that it waits for the running one, Queue the wait for a place among the running requests.
	Copying, Start, Ahead, Joining, Queue float64
	// Running is the mean number of requests that run at once, Pace the seconds between their tokens while others take
	// their places. Output tokens per second are Running / Pace.
	Running, Pace float64
}

// Break evaluates a query as Serve does and keeps the parts. The query must have passed its Check.
func Break(q *Query, c *Constants) Breakdown {
	s := newInstance(q, c)
	w := q.Workload.bounded()
	w.Requests = 0
	raw := s.serve(w)
	b := Breakdown{Times: q.Correction.of(raw), Output: w.Output, Turns: w.Turns(), Copying: s.returning(&w), Start: c[FirstSeconds]}
	b.Decode = s.explain(w.decoding(w.Concurrency))
	if tokens := w.prompts(w.Concurrency - 1); tokens > 0 {
		chunk := s.chunk(&w, tokens)
		b.MixedSteps, b.Mixed = tokens/chunk, s.explain(w.mixed(chunk))
	}
	b.Chunks = w.chunks()
	b.Chunk = s.explainPrompt(w, b.Chunks)
	b.Prompt = s.prompt(w)
	b.Ahead = s.ahead(w, b.Prompt, b.Decode.Seconds)
	b.Joining = b.Decode.Seconds * 0.5 * min(1, w.Concurrency-1)
	if w.Clients > w.Concurrency {
		b.Queue = (w.Clients/w.Concurrency - 1) * (b.Prompt + w.Output*raw.TPOT)
	}
	b.Running = w.Concurrency * c[WaveShare]
	b.Pace = b.Running / raw.OutputTokensPerSecond
	return b
}

// explain is step with its parts kept.
func (s *instance) explain(b batch) Step {
	e := Step{Sequences: b.sequences, Prompt: b.prompt, Rounds: int(s.stages), Fixed: s.c[StepSeconds]}
	e.Devices, e.Host = s.round(&b)
	e.Stages, e.Drafting = s.explainStages(b), s.drafting(&b)
	e.Seconds = s.stages * (soft(e.Devices, e.Host) + e.Fixed + e.Drafting)
	return e
}

// explainPrompt returns a pass of a prompt, or of a chunk of it, through all stages. Only the host's work overlaps with
// it.
func (s *instance) explainPrompt(w Workload, chunks float64) Step {
	b := w.alone(chunks, s.data)
	e := Step{Prompt: b.prompt, Rounds: 1, Fixed: s.c[StepSeconds], Stages: s.explainStages(b), Host: s.host(&b), Drafting: s.drafting(&b)}
	_, e.Devices = s.pass(b)
	e.Seconds = soft(e.Devices, e.Host) + e.Fixed + e.Drafting
	return e
}

// explainStages returns the query's stages; a single stage of all layers where the query lists none.
func (s *instance) explainStages(b batch) []StageStep {
	stages := s.listed()
	if len(stages) == 0 {
		return []StageStep{s.stage(b, 0, s.p.Layers())}
	}
	var list []StageStep
	for i := range stages {
		stage := &stages[i]
		at := newStepper(s.p, cmp.Or(stage.Device, s.d), cmp.Or(stage.Constants, s.c), s.degrees)
		at.adapters, at.adapterRank = s.adapters, s.adapterRank
		at.tile = s.tile
		made := at.stage(b, stage.First, stage.End)
		if i < len(stages)-1 {
			made.Transfer = at.transfer(&b, cmp.Or(stage.Transfer, at.link))
			made.Seconds += made.Transfer
		}
		list = append(list, made)
	}
	return list
}

// stage returns the operators of a run of layers, with their sum.
func (s *stepper) stage(b batch, first, end int) StageStep {
	e := StageStep{First: first, End: end, Operators: s.operators(b, first, end)}
	for i := range e.Operators {
		e.Seconds += e.Operators[i].Seconds
	}
	return e
}

// operators returns the operators whose times the stepper adds up. An operator's bytes follow from the time it would take
// if only memory took time, its operations from the time if only arithmetic did.
func (s *stepper) operators(b batch, first, end int) []Operator {
	total := b.decoded() + b.prompt
	b.sequences, b.prompt, b.finished = b.sequences/s.data, b.prompt/s.data, b.finished/s.data
	tokens := b.decoded() + b.prompt
	layers := s.p.among(first, end)
	dense, mixture, all := layers.dense, layers.mixture, layers.bare+layers.dense+layers.mixture
	var list operators
	p := s.p
	projections := Operator{Name: "projections", ReadRate: s.read}
	attention := Operator{Name: "attention", ReadRate: s.cache, ComputeRate: s.products}
	recurrence := Operator{Name: "recurrence", ReadRate: s.cache, ComputeRate: s.products}
	for i := range p.mixers {
		n, m := layers.mixers[i], &p.mixers[i]
		s.roof(&projections, n, s.compute[m.projections.width], func(at *stepper) float64 { return at.linear(&m.projections, tokens) })
		mixed := &attention
		if m.state > 0 {
			mixed = &recurrence
		}
		s.roof(mixed, n, s.products, func(at *stepper) float64 { return at.mix(m, &b, tokens) - at.linear(&m.projections, tokens) })
	}
	list.add(projections, attention, recurrence)
	list.add(s.linearOperator("dense blocks", dense, &p.dense, tokens), s.linearOperator("shared experts", mixture, &p.shared, tokens))
	experts := Operator{Name: "routed experts", ReadRate: s.read}
	s.roof(&experts, mixture, s.compute[p.experts.width]*s.c[ExpertShare], func(at *stepper) float64 { return at.route(total) })
	list.add(experts)
	list.add(s.residual(all, tokens), s.collectives("all-reduces", all, 2, s.tensorStart, s.collect(tokens)))
	list.add(s.collectives("expert exchange", mixture, 2, s.dataStart, s.exchange(total)))
	list.add(s.collectives("context exchange", all, merges, s.decodeStart, s.merge(b.decoded())))
	if s.adapters > 0 {
		made := Operator{Name: "adapters", ReadRate: s.read, Layers: int(all)}
		launches := adapterKernels / float64(layerKernels) * s.c[LayerSeconds]
		s.roof(&made, all, s.compute[p.adapter.width], func(at *stepper) float64 { return at.adapted(b.sequences, tokens) - launches })
		made.Layers, made.Fixed, made.Seconds = int(all), all*launches, made.Seconds+all*launches
		list.add(made)
	}
	each, ofDense, ofMixture := s.launches()
	launched := all*each + dense*ofDense + mixture*ofMixture
	list.add(Operator{Name: "launches", Layers: int(all), Fixed: launched, Seconds: launched})
	if e := &p.encoder; first == 0 && e.positions > 0 && b.finished > 0 {
		made := Operator{Name: "encoder", ReadRate: s.read}
		s.roof(&made, 1, s.products, func(at *stepper) float64 {
			return at.linear(&e.block, b.finished*e.positions) + b.finished*e.products/at.products
		})
		made.Layers = 0
		list.add(made)
	}
	if first == 0 && p.towers.copied > 0 && b.finished*b.patches > 0 {
		made := s.linearOperator("images and sound", 1, &p.towers, b.finished*b.patches)
		made.Layers = 0
		list.add(made)
	}
	if end == p.Layers() {
		head := s.linearOperator("head", 1, &p.head, b.decoded()+b.finished)
		head.Layers = 0
		list.add(head)
	}
	return list
}

// operators is a list that leaves out operators without time.
type operators []Operator

func (l *operators) add(more ...Operator) {
	for i := range more {
		if more[i].Seconds > 0 {
			*l = append(*l, more[i])
		}
	}
}

// roof adds n layers of a part of a step to an operator. What it reads and computes follows from its times with
// infinitely fast arithmetic, and with infinitely fast memory.
func (s *stepper) roof(o *Operator, n, computeRate float64, seconds func(*stepper) float64) {
	if n == 0 {
		return
	}
	reading, computing := *s, *s
	reading.products = math.Inf(1)
	for i := range reading.compute {
		reading.compute[i] = math.Inf(1)
	}
	computing.read, computing.cache = math.Inf(1), math.Inf(1)
	o.Layers += int(n)
	o.Seconds += n * seconds(s)
	o.Bytes += n * seconds(&reading) * o.ReadRate
	o.Operations += n * seconds(&computing) * computeRate
	o.ComputeRate = computeRate
}

func (s *stepper) linearOperator(name string, n float64, l *linear, tokens float64) Operator {
	o := Operator{Name: name, ReadRate: s.read}
	s.roof(&o, n, s.compute[l.width], func(at *stepper) float64 { return at.linear(l, tokens) })
	return o
}

// residual returns the traffic of the residual stream between the matrices.
func (s *stepper) residual(layers, tokens float64) Operator {
	seconds := layers * tokens * s.traffic
	return Operator{Name: "residual stream", Layers: int(layers), Bytes: seconds * s.read, ReadRate: s.read, Seconds: seconds}
}

// collectives returns so many collectives of each layer, with a start each.
func (s *stepper) collectives(name string, layers, each, start, seconds float64) Operator {
	if seconds == 0 {
		return Operator{}
	}
	return Operator{
		Name: name, Layers: int(layers), Messages: int(each * layers), Fixed: layers * each * start, SendRate: s.link,
		Sent: layers * (seconds - each*start) * s.link, Seconds: layers * seconds,
	}
}
