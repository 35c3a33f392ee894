package memory

// sums are what each run of consecutive layers needs of something.
type sums struct {
	each   int64   // of a layer, where all layers need as much
	before []int64 // of the layers before an index, where they differ; nil where they do not
}

// of returns what layers first to end-1 need.
func (s *sums) of(first, end int) int64 {
	if s.before == nil {
		return s.each * int64(end-first)
	}
	return s.before[end] - s.before[first]
}

// sum adds up an amount of the layers, which is given by the layers' forms.
func (f *Footprint) sum(forms []amounts, of int) sums {
	least, most := forms[0][of], forms[0][of]
	for i := range forms {
		least, most = min(least, forms[i][of]), max(most, forms[i][of])
	}
	if least == most && times(most, int64(f.layers)) < maxBytes {
		return sums{each: most}
	}
	s, all := sums{before: make([]int64, f.layers+1)}, int64(0)
	for _, run := range f.counter.runs {
		each := forms[run.Form][of]
		for i := run.First; i < run.End; i++ {
			all = bounded(all + each)
			s.before[i+1] = all
		}
	}
	return s
}
