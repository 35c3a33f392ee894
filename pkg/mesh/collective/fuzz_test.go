package collective

import (
	"bytes"
	"io"
	"net"
	"slices"
	"testing"
)

// What is accepted is what would be sent, and a frame is never longer than is allowed.
func FuzzHeader(f *testing.F) {
	var seed [headerSize]byte
	(&header{operation: opAllReduce, dtype: FP32, op: Sum, sequence: 7, step: 1, bytes: 1 << 30, segment: 3, length: segmentBytes}).put(&seed)
	f.Add(seed[:])
	f.Add(make([]byte, headerSize))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var from, to [headerSize]byte
		copy(from[:], raw)
		h, err := parseHeader(&from)
		if err != nil {
			return
		}
		h.put(&to)
		if to != from {
			t.Errorf("%x is read as %v and written as %x", from, &h, to)
		}
		if h.length > segmentBytes || h.String() == "" {
			t.Errorf("%x is accepted as %v", from, &h)
		}
	})
}

// A receiver whose peer sends anything at all gives the frame that is due, or an error.
func FuzzReceive(f *testing.F) {
	due := header{operation: opBroadcast, sequence: 1, bytes: 4, length: 4}
	var head [headerSize]byte
	due.put(&head)
	f.Add(append(head[:], "data"...))
	f.Add(append(head[:], "da"...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		reader := bytes.NewReader(raw)
		receiver := &tcpStream{conn: readConn{Reader: reader}}
		into := make([]byte, 4)
		if err := receiver.receive(&due, into); err != nil {
			return
		}
		if !bytes.Equal(raw[:headerSize], head[:]) || !bytes.Equal(raw[headerSize:headerSize+4], into) {
			t.Errorf("%x is received as %x", raw, into)
		}
	})
}

func FuzzNotice(f *testing.F) {
	for _, n := range []notice{
		{kind: noticeAlive},
		{kind: noticeLeaving},
		{noticeFailure, &RankError{Rank: 2, Reporter: 1, Failure: Lost, Reason: "gone"}},
	} {
		f.Add(n.bytes())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		reader := bytes.NewReader(raw)
		n, err := readNotice(reader, 4)
		if err != nil {
			return
		}
		if read := raw[:len(raw)-reader.Len()]; !bytes.Equal(n.bytes(), read) {
			t.Errorf("%x is written as %x", read, n.bytes())
		}
		if n.failure != nil && (n.failure.Rank >= 4 || n.failure.Reporter >= 4) {
			t.Errorf("%x names a rank that does not exist: %v", raw, n.failure)
		}
	})
}

// Nobody without the key is welcomed, whatever he says.
func FuzzWelcome(f *testing.F) {
	first := testIdentity(1, nil).hello(streamKey{lane: laneCollective, from: 1, to: 2}, [nonceSize]byte{})
	f.Add(slices.Concat(first, make([]byte, proofSize)))
	f.Add(first)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var sent bytes.Buffer
		conn := struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(raw), &sent}
		err := testIdentity(2, nil).welcome(conn, func(streamKey) error {
			t.Error("a connection is claimed")
			return nil
		})
		if err == nil {
			t.Errorf("%x is welcomed", raw)
		}
		if sent.Len() > challengeSize+answerSize {
			t.Errorf("%d bytes are sent to a stranger", sent.Len())
		}
	})
}

// A dialer believes nobody without the key.
func FuzzGreet(f *testing.F) {
	f.Add(make([]byte, challengeSize+answerSize))
	f.Add([]byte{byte(refusedMesh)})
	f.Fuzz(func(t *testing.T, raw []byte) {
		conn := struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(raw), io.Discard}
		if err := testIdentity(1, nil).greet(conn, streamKey{from: 1, to: 2}); err == nil {
			t.Errorf("%x is believed", raw)
		}
	})
}

// readConn is a connection that can only be read.
type readConn struct {
	io.Reader
	net.Conn
}

func (c readConn) Read(b []byte) (int, error) { return c.Reader.Read(b) }
