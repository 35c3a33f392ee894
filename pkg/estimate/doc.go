// Package estimate answers what one kind of device does with a model, without a cluster: whether it fits, how many bytes
// each device holds, how many requests run at a time, and how fast. An answer is one shape of pkg/shape on devices that
// nobody else uses, so that it has the stages, bytes and times that a plan of this shape has. The package reads no clock, no
// file and no API, and the same request gives the same answer.
package estimate
