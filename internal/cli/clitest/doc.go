// Package clitest runs commands in tests and compares what they print with golden files.
package clitest
