// Package agreement holds the commands of Rankwright to one answer: whether an engine serves or trains a model on a device in
// some degrees.
package agreement
