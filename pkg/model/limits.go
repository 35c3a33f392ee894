package model

import (
	"fmt"
	"reflect"
	"strings"
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
		{1, 4, []string{"the number of attention.compressed.ratios"}},
		{0, 64, []string{"attention.compressed.streams"}},
		{1, maxLayers, []string{"layers", "encoder.layers"}},
		{0, maxLayers, []string{"attention.fullAttentionEvery", "attention.compressed.firstLayer", "recurrent.convKernel", "recurrent.attentionEvery"}},
		{0, maxLayers, []string{"moe.firstLayer", "moe.interval"}},
		{1, maxHeads, []string{"attention.heads", "attention.kvHeads", "attention.headDim", "encoder.heads", "encoder.channels"}},
		{1, maxHeads, []string{"attention.mla.kvLoraRank", "attention.mla.qkNopeHeadDim", "attention.mla.qkRopeHeadDim", "attention.mla.vHeadDim"}},
		{0, maxHeads, []string{"attention.mla.qLoraRank"}},
		{1, maxHeads, []string{"attention.mla.indexer.heads", "attention.mla.indexer.headDim"}},
		{1, maxHeads, []string{"attention.compressed.qLoraRank", "attention.compressed.outputGroups", "attention.compressed.outputLoraRank"}},
		{1, maxHeads, []string{"attention.compressed.indexer.heads", "attention.compressed.indexer.headDim"}},
		{1, maxHeads, []string{"recurrent.keyHeads", "recurrent.valueHeads", "recurrent.keyHeadDim", "recurrent.valueHeadDim"}},
		{1, maxHeads, []string{"moe.experts", "moe.activeExperts"}},
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

// withinLimits holds every number of a part of an architecture to its limit. What is not there has none.
func withinLimits(v reflect.Value, field string) error {
	switch v.Kind() {
	case reflect.Int32:
		return within(field, v.Int())
	case reflect.Slice:
		if err := within("the number of "+field, int64(v.Len())); err != nil {
			return err
		}
		for i := range v.Len() {
			if err := withinLimits(v.Index(i), field); err != nil {
				return err
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return withinLimits(v.Elem(), field)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if err := withinLimits(v.Field(i), strings.TrimPrefix(field+"."+name, ".")); err != nil {
				return err
			}
		}
	}
	return nil
}

func within(field string, value int64) error {
	if of := limits[field]; value < of.low || value > of.high {
		return fmt.Errorf("%s is %d: set it to a value from %d to %d", field, value, of.low, of.high)
	}
	return nil
}
