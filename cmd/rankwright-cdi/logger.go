//go:build linux && cgo

package main

import (
	"fmt"
	"io"
)

// logger prints what NVIDIA's package warns of, a line each. What it finds is in the specification.
type logger struct{ to io.Writer }

func newLogger(to io.Writer) *logger { return &logger{to} }

func (l *logger) Warningf(format string, args ...any) { _, _ = fmt.Fprintf(l.to, format+"\n", args...) }
func (l *logger) Errorf(format string, args ...any)   { l.Warningf(format, args...) }
func (l *logger) Warning(args ...any)                 { l.Warningf("%s", fmt.Sprint(args...)) }
func (l *logger) Error(args ...any)                   { l.Warning(args...) }
func (*logger) Debugf(string, ...any)                 {}
func (*logger) Infof(string, ...any)                  {}
func (*logger) Info(...any)                           {}
func (*logger) Tracef(string, ...any)                 {}
