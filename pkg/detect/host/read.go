package host

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
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

// ReadInt returns the decimal number in a file; ok is false where there is no such file. A text that is no number is an error.
func ReadInt(files Files, name string) (value int64, ok bool, err error) {
	return readNumber(files, name, func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) })
}

// ReadHex returns the hexadecimal number in a file, with or without 0x; ok is false where there is no such file. A text that is
// no number is an error.
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

// Clip shortens a text to at most n bytes, at the border of a rune. It drops what stands after a NUL, and control characters
// but for line ends and tabs.
func Clip(text string, n int) string {
	text, _, _ = strings.Cut(text, "\x00")
	readable := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	return words.Cut(readable, n)
}

// ReadBetween reads a number; ok is false where there is none or it is outside the bounds.
func ReadBetween(files Files, name string, lowest, highest int64) (value int64, ok bool) {
	value, ok, err := ReadInt(files, name)
	return value, ok && err == nil && value >= lowest && value <= highest
}

// ReadNumbered returns, in order, the numbers of the entries in a folder that are named by a prefix and a number and
// nothing else (`card0`, not `card0-DP-1`); none where there is no such folder.
func ReadNumbered(files Files, folder, prefix string) ([]int, error) {
	names, err := ReadNames(files, folder)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, name := range names {
		digits, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if number, ok := ParseIndex(digits); ok {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// ParseIndex reads a number as the kernel prints minors and indexes: decimal, without sign or leading zeros, 31 bits.
func ParseIndex(digits string) (int, bool) {
	number, err := strconv.ParseInt(digits, 10, 32)
	return int(number), err == nil && number >= 0 && strconv.FormatInt(number, 10) == digits
}

// Pairs yields what stands before and after the separator in each line of a text that has it, without the space around them.
func Pairs(text, separator string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for line := range strings.Lines(text) {
			if key, value, found := strings.Cut(line, separator); found && !yield(strings.TrimSpace(key), strings.TrimSpace(value)) {
				return
			}
		}
	}
}

// ReadMemTotal reads the line `MemTotal: 2113386884 kB`, or `Node 0 MemTotal: …` of a NUMA node, in MiB.
func ReadMemTotal(files Files, name string) (int64, error) {
	text, ok, err := ReadText(files, name)
	if err != nil || !ok {
		return 0, err
	}
	if total, ok := AmountKiB(text, "MemTotal"); ok {
		return total >> 10, nil
	}
	return 0, fmt.Errorf("%s: has no valid MemTotal", name)
}

// AmountKiB returns the amount of a key in a file such as /proc/meminfo or /proc/PID/status, in KiB, which the kernel calls kB; ok is
// false where the file does not have it.
func AmountKiB(text, key string) (kib int64, ok bool) {
	for name, value := range Pairs(text, ":") {
		if name == key || strings.HasSuffix(name, " "+key) { // of a NUMA node: Node 0 MemTotal
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 64)
			return kib, err == nil && kib >= 0
		}
	}
	return 0, false
}
