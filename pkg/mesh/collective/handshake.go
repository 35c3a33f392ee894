package collective

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A connection begins with four messages of fixed size. The dialer says who it is and whom it wants; the listener
// answers with a nonce of its own; the dialer proves that it has the key, and only then the listener does. A proof is an
// HMAC-SHA256 over everything said before, with the side's name, so that none is of use in another connection, for
// another rank, or sent back.
//
//	hello      dialer      magic, version, byte order, ranks, size, lane, group, mesh, nonce
//	challenge  listener    verdict, nonce
//	proof      dialer      HMAC("dialer", hello, challenge)
//	answer     listener    verdict, HMAC("listener", hello, challenge, proof)
const (
	protocolVersion = 1

	nonceSize     = 32
	proofSize     = sha256.Size
	helloSize     = 64 + nonceSize
	challengeSize = 1 + nonceSize
	answerSize    = 1 + proofSize
)

var magic = [4]byte{'R', 'W', 'c', 'l'}

// identity is who a rank is to others.
type identity struct {
	rank, size int
	mesh       [sha256.Size]byte
	secret     []byte
}

// hello is what a dialer says.
type hello struct {
	key   streamKey
	size  int // of the communicator
	mesh  [sha256.Size]byte
	nonce [nonceSize]byte
}

func (h *hello) put(to *[helloSize]byte) {
	copy(to[0:], magic[:])
	binary.LittleEndian.PutUint16(to[4:], protocolVersion)
	binary.NativeEndian.PutUint16(to[6:], byteOrder)
	binary.LittleEndian.PutUint32(to[8:], uint32(h.key.from))
	binary.LittleEndian.PutUint32(to[12:], uint32(h.key.to))
	binary.LittleEndian.PutUint32(to[16:], uint32(h.size))
	to[20] = byte(h.key.lane)
	copy(to[24:], h.key.group[:])
	copy(to[32:], h.mesh[:])
	copy(to[64:], h.nonce[:])
}

const byteOrder = 0x0102

// refusal is why a listener does not take a connection. It is not authenticated: it explains, and decides nothing.
type refusal uint8

const (
	accepted refusal = iota
	refusedVersion
	refusedByteOrder
	refusedMesh
	refusedSize
	refusedRank
	refusedStream
	refusedProof
	refusedDuplicate
	refusedMalformed
)

var refusals = map[refusal]string{
	refusedVersion:   "it has another version of the protocol: use the same program on all ranks",
	refusedByteOrder: "its processor has another byte order",
	refusedMesh:      "it is of another mesh: give all ranks the same mesh name",
	refusedSize:      "it has another number of ranks: give all ranks the same addresses",
	refusedRank:      "it is another rank than was dialed: give all ranks the same addresses",
	refusedStream:    "it does not expect this connection",
	refusedProof:     "its key is another: give all ranks the same key",
	refusedDuplicate: "it has this connection already: a rank runs twice",
	refusedMalformed: "it does not speak this protocol",
}

func (r refusal) Error() string {
	if text, ok := refusals[r]; ok {
		return "refused: " + text
	}
	return fmt.Sprintf("refused: reason %d", uint8(r))
}

// parse reads a hello that a listener of this identity takes.
func (id *identity) parse(from *[helloSize]byte) (hello, error) {
	h := hello{
		key: streamKey{
			lane: lane(from[20]),
			from: int(binary.LittleEndian.Uint32(from[8:])),
			to:   int(binary.LittleEndian.Uint32(from[12:])),
		},
		size: int(binary.LittleEndian.Uint32(from[16:])),
	}
	copy(h.key.group[:], from[24:])
	copy(h.mesh[:], from[32:])
	copy(h.nonce[:], from[64:])
	switch {
	case [4]byte(from[0:4]) != magic:
		return h, refusedMalformed
	case binary.LittleEndian.Uint16(from[4:]) != protocolVersion:
		return h, refusedVersion
	case binary.NativeEndian.Uint16(from[6:]) != byteOrder:
		return h, refusedByteOrder
	case h.mesh != id.mesh:
		return h, refusedMesh
	case h.size != id.size:
		return h, refusedSize
	case h.key.to != id.rank || h.key.from == id.rank || h.key.from >= id.size:
		return h, refusedRank
	case h.key.lane >= lanes || from[21] != 0 || from[22] != 0 || from[23] != 0:
		return h, refusedStream
	}
	return h, nil
}

func (id *identity) prove(side string, said ...[]byte) []byte {
	mac := hmac.New(sha256.New, id.secret)
	mac.Write([]byte("rankwright collective " + side + "\x00"))
	for _, s := range said {
		mac.Write(s)
	}
	return mac.Sum(nil)
}

// greet is the dialer's side. Nothing of the listener is believed before its proof.
func (id *identity) greet(conn io.ReadWriter, key streamKey) error {
	h := hello{key: key, size: id.size, mesh: id.mesh}
	if _, err := rand.Read(h.nonce[:]); err != nil {
		return err
	}
	var first [helloSize]byte
	h.put(&first)
	if _, err := conn.Write(first[:]); err != nil {
		return err
	}
	var challenge [challengeSize]byte
	if _, err := io.ReadFull(conn, challenge[:]); err != nil {
		return err
	}
	if challenge[0] != byte(accepted) {
		return refusal(challenge[0])
	}
	proof := id.prove("dialer", first[:], challenge[:])
	if _, err := conn.Write(proof); err != nil {
		return err
	}
	var answer [answerSize]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return err
	}
	if answer[0] != byte(accepted) {
		return refusal(answer[0])
	}
	if !hmac.Equal(answer[1:], id.prove("listener", first[:], challenge[:], proof)) {
		return errors.New("it does not prove that it has the key: give all ranks the same key")
	}
	return nil
}

// welcome is the listener's side. claim takes the connection, or says why not, once the dialer is known; the dialer hears
// of it after that.
func (id *identity) welcome(conn io.ReadWriter, claim func(streamKey) error) error {
	var first [helloSize]byte
	if _, err := io.ReadFull(conn, first[:]); err != nil {
		return err
	}
	var challenge [challengeSize]byte
	h, err := id.parse(&first)
	if err != nil {
		return refuse(conn, challenge[:], err)
	}
	if _, err := rand.Read(challenge[1:]); err != nil {
		return err
	}
	if _, err := conn.Write(challenge[:]); err != nil {
		return err
	}
	var proof [proofSize]byte
	if _, err := io.ReadFull(conn, proof[:]); err != nil {
		return err
	}
	var answer [answerSize]byte
	if !hmac.Equal(proof[:], id.prove("dialer", first[:], challenge[:])) {
		return refuse(conn, answer[:], refusedProof)
	}
	if err := claim(h.key); err != nil {
		return refuse(conn, answer[:], err)
	}
	copy(answer[1:], id.prove("listener", first[:], challenge[:], proof[:]))
	_, err = conn.Write(answer[:])
	return err
}

// refuse sends a message that says nothing but why.
func refuse(conn io.Writer, message []byte, why error) error {
	reason := refusedStream
	errors.As(why, &reason)
	clear(message)
	message[0] = byte(reason)
	if _, err := conn.Write(message); err != nil {
		return err
	}
	return why
}
