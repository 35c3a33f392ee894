package estimate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/price"
)

// Renting is a model that somebody wants to serve on a shape of a cloud.
type Renting struct {
	// Serving is the model and its load. Product, degrees, replicas and devices per node are set from each shape.
	Serving
	// TTFTLimit and TPOTLimit are the longest times in seconds, where requests come as others finish; 0 means no limit.
	TTFTLimit, TPOTLimit float64
	// Provider, in any case, and Product restrict the shapes; empty means any.
	Provider, Product string
}

// Offers are the shapes that serve a model, the lowest price of tokens first, and the shapes that do not.
type Offers struct {
	Offers  []Offer   `json:"offers"`
	LeftOut []LeftOut `json:"leftOut"`
}

// Offer is a shape with the fastest way to serve the model on it.
type Offer struct {
	Rented
	USDPerHour float64 `json:"usdPerHour"`
	// USDPerMillionTokens is the price of a million output tokens, with the range in which it is expected.
	USDPerMillionTokens      float64 `json:"usdPerMillionOutputTokens"`
	USDPerMillionTokensRange Range   `json:"usdPerMillionOutputTokensRange"`
	Answer                   *Answer `json:"estimate"`
	Source                   string  `json:"source"`
	Date                     string  `json:"date"`
}

// Rented names a shape.
type Rented struct {
	Provider string `json:"provider"`
	Instance string `json:"instance"`
	Region   string `json:"region"`
	Product  string `json:"product"`
	Count    int    `json:"count"`
	// VCPUs, MemoryGiB and NetworkGbps are as in price.Shape; absent where they are not known.
	VCPUs       int     `json:"vcpus,omitempty"`
	MemoryGiB   float64 `json:"memoryGiB,omitempty"`
	NetworkGbps float64 `json:"networkGbps,omitempty"`
}

// LeftOut is a shape that does not serve the model, with the reason.
type LeftOut struct {
	Rented
	Reason string `json:"reason"`
}

// Cheapest finds the shapes of a table that serve a model, each in the way that gives most tokens per second within the
// limits. The error names a field that is wrong for every shape.
func Cheapest(r Renting, table *price.Table) (*Offers, error) {
	s := r.Serving
	if err := s.normal(); err != nil {
		return nil, err
	}
	if !(r.TTFTLimit >= 0) || !(r.TPOTLimit >= 0) { // the negated forms refuse NaN too
		return nil, fmt.Errorf("max-ttft %g s, max-tpot %g s: set a positive time, or 0 for none", r.TTFTLimit, r.TPOTLimit)
	}
	all := &Offers{Offers: []Offer{}, LeftOut: []LeftOut{}}
	type kind struct {
		product string
		devices int
	}
	best := map[kind]outcome{}
	shapes := table.Shapes()
	for i := range shapes {
		shape := &shapes[i]
		if !r.wants(shape) {
			continue
		}
		k := kind{shape.Product, shape.Devices}
		if _, ok := best[k]; !ok {
			best[k] = r.on(shape)
		}
		all.add(shape, best[k])
	}
	if len(all.Offers)+len(all.LeftOut) == 0 {
		return nil, r.unpriced(shapes)
	}
	slices.SortStableFunc(all.Offers, func(a, b Offer) int {
		return cmp.Or(cmp.Compare(a.USDPerMillionTokens, b.USDPerMillionTokens), cmp.Compare(a.USDPerHour, b.USDPerHour))
	})
	return all, nil
}

// wants says whether a shape is asked for.
func (r *Renting) wants(s *price.Shape) bool {
	return (r.Provider == "" || strings.EqualFold(r.Provider, s.Provider)) && (r.Product == "" || r.Product == s.Product)
}

// unpriced says of what no row of a table has a price, and of whom it has.
func (r *Renting) unpriced(shapes []price.Shape) error {
	var providers, having []string
	for i := range shapes {
		s := &shapes[i]
		providers = append(providers, s.Provider)
		if s.Product == r.Product {
			having = append(having, s.Provider)
		}
	}
	known := slices.ContainsFunc(providers, func(p string) bool { return strings.EqualFold(p, r.Provider) })
	switch {
	case r.Provider != "" && !known:
		return fmt.Errorf("no price is known of provider %q: there are prices of %s", words.Echo(r.Provider), listed(providers))
	case len(having) == 0:
		return fmt.Errorf("no price is known of %s: give a table of your own that has it", r.Product)
	default:
		return fmt.Errorf("no price is known of %s at %s: there are prices of it at %s", r.Product, r.Provider, listed(having))
	}
}

// listed joins names, each once.
func listed(names []string) string {
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// ByHour sorts the offers by the price of an hour, the cheapest first.
func (o *Offers) ByHour() {
	slices.SortStableFunc(o.Offers, func(a, b Offer) int { return cmp.Compare(a.USDPerHour, b.USDPerHour) })
}

// outcome is the best way to serve on a shape, or the reason why there is none.
type outcome struct {
	answer *Answer
	miss   miss
	reason string
}

// miss is how near to serving an outcome came: the higher, the nearer.
type miss int

const (
	illegal miss = iota
	tooSmall
	tooSlow
)

func (o *Offers) add(s *price.Shape, w outcome) {
	rented := Rented{
		Provider: s.Provider, Instance: s.Instance, Region: s.Region, Product: s.Product, Count: s.Devices,
		VCPUs: s.VCPUs, MemoryGiB: s.MemoryGiB, NetworkGbps: s.NetworkGbps,
	}
	if w.answer == nil {
		o.LeftOut = append(o.LeftOut, LeftOut{rented, w.reason})
		return
	}
	hour := float64(s.MicroUSDPerHour) / 1e6
	million := func(rate float64) float64 { return rounded(hour / 3600 / rate * 1e6) }
	rates := w.answer.Ranges.OutputTokensPerSecond
	o.Offers = append(o.Offers, Offer{
		Rented: rented, USDPerHour: hour, USDPerMillionTokens: million(*w.answer.OutputTokensPerSecond),
		USDPerMillionTokensRange: Range{Low: million(rates.High), High: million(rates.Low)}, Answer: w.answer, Source: s.Source, Date: s.Date,
	})
}

// on tries every way in which the planner would spread the model over a shape's devices.
func (r *Renting) on(rented *price.Shape) outcome {
	product, ok := accelerator.Lookup(accelerator.Key{Product: rented.Product})
	if !ok {
		return outcome{reason: fmt.Sprintf("product %q is not in the catalogue", rented.Product)}
	}
	s := r.Serving
	s.Product, s.Degrees, s.DevicesPerNode = product, Degrees{}, rented.Devices
	p, err := s.placed(nil, 1)
	if err != nil {
		return outcome{reason: err.Error()}
	}
	l, err := s.look(p, nil, rented.Devices)
	if err != nil {
		return outcome{reason: err.Error()}
	}
	var best outcome
	for _, d := range l.spreads() {
		s.Degrees, s.Replicas = d, rented.Devices/d.Devices()
		got := r.within(s, l)
		switch {
		case got.answer == nil && best.answer == nil:
			// Among equally near misses the one with the widest spread is kept.
			if got.miss >= best.miss {
				best = got
			}
		case got.answer != nil && (best.answer == nil || *got.answer.OutputTokensPerSecond > *best.answer.OutputTokensPerSecond):
			best = got
		}
	}
	return best
}

// spreads returns the degrees in which equal copies of the model use exactly the flavor's devices, those with fewer devices a
// copy first; where it fits in none, the widest.
func (l *look) spreads() []Degrees {
	devices := l.flavor.Devices
	var fitting, widest []Degrees
	for _, of := range l.tier.Degrees(l.flavor) {
		d := Degrees{Tensor: of.Tensor, Pipeline: 1, AttentionData: of.Data, Expert: of.Expert}
		if devices%d.Devices() == 0 {
			widest = []Degrees{d}
		}
		for c := range l.tier.Shapes(l.flavor, of, nil) {
			if d.Pipeline = c.Stages; devices%d.Devices() == 0 {
				fitting = append(fitting, d)
			}
		}
	}
	if len(fitting) == 0 {
		return widest
	}
	slices.SortStableFunc(fitting, func(a, b Degrees) int { return cmp.Compare(a.Devices(), b.Devices()) })
	return fitting
}

// searches is how often the range of concurrencies under limits is halved: to a thousandth within a factor of a million.
const searches = 12

// within serves at the asked concurrency, or at the largest one that meets the limits where none is asked.
func (r *Renting) within(s Serving, l *look) outcome {
	p, err := s.placed(nil, 1)
	if err != nil {
		return outcome{reason: err.Error()}
	}
	got, err := s.on(p, l)
	switch {
	case err != nil:
		return outcome{reason: err.Error()}
	case !got.Fits:
		return outcome{miss: tooSmall, reason: "does not fit: " + got.Reason}
	case int64(s.Replicas) > got.Concurrency.Running && s.Concurrency > 0:
		return outcome{reason: fmt.Sprintf("%d replicas for %d requests", s.Replicas, s.Concurrency)}
	}
	over := r.over(got)
	if over == "" {
		return outcome{answer: got}
	}
	if s.Concurrency > 0 {
		return outcome{miss: tooSlow, reason: over}
	}
	low, high := int64(s.Replicas), got.Concurrency.Running
	best := outcome{miss: tooSlow, reason: over}
	for range searches {
		s.Concurrency = low
		if best.answer != nil {
			s.Concurrency = int64(math.Sqrt(float64(low) * float64(high)))
		}
		got, err := s.on(p, l)
		if err != nil {
			return outcome{reason: err.Error()}
		}
		switch over := r.over(got); {
		case over == "":
			best, low = outcome{answer: got}, s.Concurrency
		case best.answer == nil:
			return outcome{miss: tooSlow, reason: over + ", even for one request at a time"}
		default:
			high = s.Concurrency
		}
		if high-low <= 1 {
			break
		}
	}
	return best
}

// over says which limit an answer misses; empty where it keeps all.
func (r *Renting) over(a *Answer) string {
	for _, l := range [...]struct {
		name       string
		got, limit float64
	}{{"TTFT", *a.TTFTMillis, r.TTFTLimit * 1e3}, {"TPOT", *a.TPOTMillis, r.TPOTLimit * 1e3}} {
		if l.limit > 0 && l.got > l.limit {
			return fmt.Sprintf("%s of %.4g ms is over the limit of %.4g ms", l.name, l.got, l.limit)
		}
	}
	return ""
}
