package site

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// What vLLM logs when it starts. Before version 0.11 it wrote size and concurrency in lines of their own, now in one; each engine core of several data
// ranks writes its own.
var (
	cacheSize   = regexp.MustCompile(`GPU KV cache size: ([0-9,]+) tokens`)
	longest     = regexp.MustCompile(`Maximum concurrency for ([0-9,]+) tokens per request`)
	version     = regexp.MustCompile(`(?:vLLM API server version|Initializing a V1 LLM engine \(v?)\s*([0-9]+(?:\.[0-9a-z+]+)+)`)
	served      = regexp.MustCompile(`(?:model=|'model': |model_tag': )'([^']+)'`)
	engineCore  = regexp.MustCompile(`EngineCore(?:_DP\d+)?`)
	degreeInLog = regexp.MustCompile(`(tensor|pipeline|data)_parallel_size(?:=|': )(\d+)`)
)

// startUp reads the start-up log of vLLM: how many tokens the caches of all its engine cores hold.
func startUp(content []byte) (v1alpha1.Measurement, bool) {
	m := v1alpha1.Measurement{Engine: engineOf("vllm", ""), Source: v1alpha1.MeasurementSource{Tool: toolLog}}
	cores, sizes := map[string]int64{}, int64(0)
	found := map[string]int32{}
	for line := range strings.Lines(string(content)) {
		if size := cacheSize.FindStringSubmatch(line); size != nil {
			cores[engineCore.FindString(line)] = grouped(size[1])
		}
		if long := longest.FindStringSubmatch(line); long != nil {
			m.MaxModelLen = whole32(float64(grouped(long[1])))
		}
		if v := version.FindStringSubmatch(line); v != nil {
			m.EngineVersion = v[1]
		}
		if name := served.FindStringSubmatch(line); name != nil && m.Model == "" {
			m.Model = name[1]
		}
		for _, degree := range degreeInLog.FindAllStringSubmatch(line, -1) {
			found[degree[1]] = whole32(float64(grouped(degree[2])))
		}
	}
	for _, size := range cores {
		sizes += size
	}
	m.CacheTokens = sizes
	m.Parallelism = degrees(found["tensor"], found["pipeline"], found["data"], 0)
	return m, sizes > 0
}

// grouped reads a number that may have commas; 0 where it is out of range.
func grouped(text string) int64 {
	n, err := strconv.ParseInt(strings.ReplaceAll(text, ",", ""), 10, 64)
	if err != nil || n > 1<<50 {
		return 0
	}
	return n
}
