package host

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// ReadText returns a file's content without the space around it, nor the NUL bytes by which some boards fill up their
// memories; ok is false where there is no such file. An error means that there is one and that it could not be read.
func ReadText(files Files, name string) (text string, ok bool, err error) {
	data, err := files.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	return strings.Trim(string(data), " \t\r\n\v\f\x00"), true, nil
}

// ReadInt is ReadText for a decimal number.
func ReadInt(files Files, name string) (value int64, ok bool, err error) {
	return readNumber(files, name, func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) })
}

// ReadHex is ReadText for a hexadecimal number, with or without 0x.
func ReadHex(files Files, name string) (value uint64, ok bool, err error) {
	return readNumber(files, name, func(text string) (uint64, error) {
		return strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	})
}

func readNumber[N int64 | uint64](files Files, name string, parse func(string) (N, error)) (N, bool, error) {
	text, ok, err := ReadText(files, name)
	if !ok || err != nil {
		return 0, false, err
	}
	value, err := parse(text)
	if err != nil {
		return 0, false, OfKind(v1alpha1.ErrorMalformed, fmt.Errorf("%s: %q is not a number", name, Clip(text, 64)))
	}
	return value, true, nil
}

// ReadNames returns the names in a folder; none where there is no such folder.
func ReadNames(files Files, name string) ([]string, error) {
	names, err := files.ReadDir(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}

// Exists says whether there is a file, folder or device node of that name, links followed.
func Exists(files Files, name string) bool {
	_, err := files.Stat(name)
	return err == nil
}

// Clip shortens a text to at most n bytes, at the border of a rune. What stands after a NUL is no part of a text, and other
// control characters than those of lines are none that people can read.
func Clip(text string, n int) string {
	text, _, _ = strings.Cut(text, "\x00")
	if strings.ContainsFunc(text, unreadable) {
		text = strings.Map(func(r rune) rune {
			if unreadable(r) {
				return -1
			}
			return r
		}, text)
	}
	return words.Cut(strings.ToValidUTF8(text, "�"), n)
}

func unreadable(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// ReadBetween reads a number; ok is false where there is none or it is outside the bounds.
func ReadBetween(files Files, name string, lowest, highest int64) (value int64, ok bool) {
	value, ok, err := ReadInt(files, name)
	return value, ok && err == nil && value >= lowest && value <= highest
}
