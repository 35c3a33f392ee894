// Package estimate answers what one kind of device does with a model, without a cluster: whether it fits, how many bytes
// each device holds, how many requests run at a time, and how fast. It joins pkg/model, pkg/accelerator, pkg/memory,
// pkg/cost and pkg/price, reads no clock, no file and no API, and the same request gives the same answer.
package estimate
