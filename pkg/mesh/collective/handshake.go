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
	meshOffset    = 32 // of the mesh in a hello
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

// hello is what a dialer says, in the order of its bytes; numbers are little-endian but for the byte order.
type hello struct {
	Magic          [4]byte
	Version        uint16
	ByteOrder      [2]byte
	From, To, Size uint32
	Lane           lane
	Reserved       [3]byte
	Group          groupID
	Mesh           [sha256.Size]byte
	Nonce          [nonceSize]byte
}

// byteOrder are two bytes that the machine takes for 0x0102.
var byteOrder = [2]byte(binary.NativeEndian.AppendUint16(nil, 0x0102))

// hello writes what this rank says to open a stream.
func (id *identity) hello(key streamKey, nonce [nonceSize]byte) []byte {
	said, _ := binary.Append(nil, binary.LittleEndian, &hello{ // a struct of fixed size can always be written
		magic, protocolVersion, byteOrder, uint32(key.from), uint32(key.to), uint32(id.size), key.lane, [3]byte{}, key.group, id.mesh, nonce,
	})
	return said
}

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
func (id *identity) parse(said []byte) (streamKey, error) {
	var h hello
	if _, err := binary.Decode(said, binary.LittleEndian, &h); err != nil {
		return streamKey{}, err
	}
	key := streamKey{group: h.Group, lane: h.Lane, from: int(h.From), to: int(h.To)}
	switch {
	case h.Magic != magic:
		return key, refusedMalformed
	case h.Version != protocolVersion:
		return key, refusedVersion
	case h.ByteOrder != byteOrder:
		return key, refusedByteOrder
	case h.Mesh != id.mesh:
		return key, refusedMesh
	case int(h.Size) != id.size:
		return key, refusedSize
	case key.to != id.rank || key.from == id.rank || key.from >= id.size:
		return key, refusedRank
	case key.lane >= lanes || h.Reserved != [3]byte{}:
		return key, refusedStream
	}
	return key, nil
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
	var nonce [nonceSize]byte
	_, _ = rand.Read(nonce[:]) // it never fails
	first := id.hello(key, nonce)
	if _, err := conn.Write(first); err != nil {
		return err
	}
	challenge := make([]byte, challengeSize)
	if err := hear(conn, challenge); err != nil {
		return err
	}
	proof := id.prove("dialer", first, challenge)
	if _, err := conn.Write(proof); err != nil {
		return err
	}
	answer := make([]byte, answerSize)
	if err := hear(conn, answer); err != nil {
		return err
	}
	if !hmac.Equal(answer[1:], id.prove("listener", first, challenge, proof)) {
		return errors.New("it does not prove that it has the key: give all ranks the same key")
	}
	return nil
}

// hear reads a message of the listener, whose first byte is its verdict.
func hear(conn io.Reader, message []byte) error {
	if _, err := io.ReadFull(conn, message); err != nil {
		return err
	}
	if message[0] != byte(accepted) {
		return refusal(message[0])
	}
	return nil
}

// welcome is the listener's side. claim takes the connection, or says why not, once the dialer is known; the dialer hears
// of it after that.
func (id *identity) welcome(conn io.ReadWriter, claim func(streamKey) error) error {
	first, challenge := make([]byte, helloSize), make([]byte, challengeSize)
	if _, err := io.ReadFull(conn, first); err != nil {
		return err
	}
	key, err := id.parse(first)
	if err != nil {
		return refuse(conn, challenge, err)
	}
	_, _ = rand.Read(challenge[1:]) // it never fails
	if _, err := conn.Write(challenge); err != nil {
		return err
	}
	proof, answer := make([]byte, proofSize), make([]byte, answerSize)
	if _, err := io.ReadFull(conn, proof); err != nil {
		return err
	}
	if !hmac.Equal(proof, id.prove("dialer", first, challenge)) {
		return refuse(conn, answer, refusedProof)
	}
	if err := claim(key); err != nil {
		return refuse(conn, answer, err)
	}
	copy(answer[1:], id.prove("listener", first, challenge, proof))
	_, err = conn.Write(answer)
	return err
}

// refuse sends a message that says nothing but why.
func refuse(conn io.Writer, message []byte, why error) error {
	reason := refusedStream
	errors.As(why, &reason)
	message[0] = byte(reason)
	if _, err := conn.Write(message); err != nil {
		return err
	}
	return why
}
