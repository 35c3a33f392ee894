package model

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// limit is the range of a number.
type limit struct{ low, high int64 }

// limits are the bounds of the API's markers for the numbers of an architecture, by their JSON names.
var limits = func() map[string]limit {
	all := map[string]limit{}
	for _, of := range []struct {
		low, high int64
		fields    []string
	}{
		{0, 8, []string{"normsPerLayer"}},
		{1, maxLayers, []string{"the number of attention.compressed.ratios"}},
		{0, 64, []string{"attention.compressed.streams"}},
		{1, maxLayers, []string{"layers", "encoder.layers"}},
		{0, maxLayers, []string{"attention.fullAttentionEvery", "attention.compressed.firstLayer", "recurrent.convKernel", "recurrent.attentionEvery"}},
		{0, maxLayers, []string{"moe.firstLayer", "moe.interval"}},
		{1, maxHeads, []string{"attention.heads", "attention.kvHeads", "attention.headDim", "encoder.heads"}},
		{1, maxHeads, []string{"attention.mla.kvLoraRank", "attention.mla.qkNopeHeadDim", "attention.mla.qkRopeHeadDim", "attention.mla.vHeadDim"}},
		{1, maxHeads, []string{"attention.windowed.heads", "attention.windowed.kvHeads", "attention.windowed.headDim"}},
		{0, maxHeads, []string{"attention.mla.qLoraRank", "attention.valueHeadDim", "attention.windowed.valueHeadDim", "encoder.channels", "recurrent.stepRank"}},
		{0, maxParameters, []string{"otherParameters"}},
		{1, maxHeads, []string{"attention.mla.indexer.heads", "attention.mla.indexer.headDim"}},
		{1, maxHeads, []string{"attention.compressed.qLoraRank", "attention.compressed.outputGroups", "attention.compressed.outputLoraRank"}},
		{1, maxHeads, []string{"attention.compressed.indexer.heads", "attention.compressed.indexer.headDim"}},
		{1, maxHeads, []string{"recurrent.keyHeads", "recurrent.valueHeads", "recurrent.keyHeadDim", "recurrent.valueHeadDim"}},
		{1, maxHeads, []string{"moe.experts", "moe.activeExperts"}},
		{0, maxHidden, []string{"moe.latentSize"}},
		{1, maxHidden, []string{"hiddenSize", "attention.compressed.ratios"}},
		{1, maxWidth, []string{"vocabSize", "moe.intermediateSize", "encoder.intermediateSize", "encoder.positions"}},
		{0, maxWidth, []string{"positions", "mlp.intermediateSize", "moe.sharedIntermediateSize"}},
		{1, maxTokens, []string{"attention.mla.indexer.topK", "attention.compressed.indexer.topK"}},
		{0, maxTokens, []string{"maxContext", "attention.slidingWindow"}},
	} {
		for _, field := range of.fields {
			all[field] = limit{of.low, of.high}
		}
	}
	return all
}()

// part is an architecture or a part of it, with the names and limits of its numbers. Names are looked up once, since
// reflection finds them slowly.
type part struct {
	field string
	limit
	fields []part
}

var architecture = partOf(reflect.TypeFor[v1alpha1.Architecture](), "")

func partOf(t reflect.Type, field string) part {
	p := part{field: field, limit: limits[field]}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct {
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			p.fields = append(p.fields, partOf(f.Type, strings.TrimPrefix(field+"."+name, ".")))
		}
	}
	return p
}

// check holds every number of a part to its limit. What is not there has none.
func (p *part) check(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Int32, reflect.Int64:
		return within(p.field, v.Int(), p.limit)
	case reflect.Slice:
		number := "the number of " + p.field
		if err := within(number, int64(v.Len()), limits[number]); err != nil {
			return err
		}
		for i := range v.Len() {
			if err := p.check(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return p.check(v.Elem())
		}
	case reflect.Struct:
		for i := range p.fields {
			if err := p.fields[i].check(v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func within(field string, value int64, of limit) error {
	if value < of.low || value > of.high {
		return fmt.Errorf("%s is %d: set it to a value from %d to %d", field, value, of.low, of.high)
	}
	return nil
}
