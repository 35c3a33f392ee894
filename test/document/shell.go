package document

import (
	"strings"
)

// call is one program that a line starts, as a shell reads it: pipes, lists and redirections are no part of its words.
type call struct {
	words []string
	// writes are the files that its output goes to.
	writes []string
}

// calls reads a line as a shell does: quotes, comments, pipes, lists, redirections, and commands whose output stands for a word, which are
// calls of their own.
func calls(line string) []call {
	r := &reader{rest: line}
	r.read()
	return r.calls
}

// reader goes through a line.
type reader struct {
	rest    string
	word    strings.Builder
	begun   bool // the word, which may be an empty one in quotes
	target  bool // the next word is where output goes
	current call
	calls   []call
}

func (r *reader) read() {
	for r.rest != "" {
		c := r.rest[0]
		switch {
		case c == '#' && !r.begun:
			r.rest = ""
		case c == '\'':
			r.quoted()
		case c == '"':
			r.take(1)
			r.doubled()
		case c == '\\' && len(r.rest) > 1:
			r.begun = true
			r.word.WriteByte(r.rest[1])
			r.take(2)
		case strings.HasPrefix(r.rest, "$("):
			r.substituted()
		case strings.ContainsRune("|&;<>()", rune(c)):
			r.operator(c)
		case c == ' ' || c == '\t' || c == '\n':
			r.endWord()
			r.take(1)
		default:
			r.begun = true
			r.word.WriteByte(c)
			r.take(1)
		}
	}
	r.endCall()
}

func (r *reader) take(n int) { r.rest = r.rest[n:] }

func (r *reader) quoted() {
	inside, after, _ := strings.Cut(r.rest[1:], "'")
	r.begun, r.rest = true, after
	r.word.WriteString(inside)
}

// doubled reads to the end of double quotes, in which commands may stand, too.
func (r *reader) doubled() {
	r.begun = true
	for r.rest != "" && r.rest[0] != '"' {
		if strings.HasPrefix(r.rest, "$(") {
			r.substituted()
			continue
		}
		r.word.WriteByte(r.rest[0])
		r.take(1)
	}
	r.rest = strings.TrimPrefix(r.rest, `"`)
}

// substituted leaves $() for a command whose output stands there.
func (r *reader) substituted() {
	depth, end := 0, len(r.rest)
	for i := 1; i < len(r.rest); i++ {
		switch r.rest[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			end = i
			break
		}
	}
	r.calls = append(r.calls, calls(r.rest[2:end])...)
	r.begun = true
	r.word.WriteString("$()")
	r.rest = strings.TrimPrefix(r.rest[end:], ")")
}

func (r *reader) operator(c byte) {
	if c == '<' || c == '>' {
		if w := r.word.String(); w == "1" || w == "2" {
			r.word.Reset()
			r.begun = false
		}
		r.endWord()
		r.target = true
		r.rest = strings.TrimLeft(r.rest, "<>&")
		return
	}
	r.endCall()
	r.take(1)
}

func (r *reader) endWord() {
	if !r.begun {
		return
	}
	if r.target {
		r.current.writes = append(r.current.writes, r.word.String())
	} else {
		r.current.words = append(r.current.words, r.word.String())
	}
	r.word.Reset()
	r.begun, r.target = false, false
}

func (r *reader) endCall() {
	r.endWord()
	if len(r.current.words) > 0 {
		r.calls = append(r.calls, r.current)
	}
	r.current = call{}
}
