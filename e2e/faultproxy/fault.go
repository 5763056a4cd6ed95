package faultproxy

import (
	"fmt"
	"time"
)

// A Kind is a kind of fault of a connection.
type Kind int

// Faults of a connection.
const (
	None      Kind = iota
	Cut            // both sides see an end, as if the other one had closed it
	Reset          // both sides see a reset
	HalfClose      // the reader of this direction sees an end; the other direction continues
	Stall          // it stays open, and nothing passes any more, not even an end
	Drip           // the next bytes pass one by one
)

// Kinds lists all faults.
var Kinds = []Kind{Cut, Reset, HalfClose, Stall, Drip}

func (k Kind) String() string {
	return [...]string{"none", "cut", "reset", "half-close", "stall", "drip"}[k]
}

// A Direction is one of a connection.
type Direction int

// The directions of a connection.
const (
	ToServer Direction = iota
	FromServer
)

func (d Direction) String() string { return [...]string{"to the server", "from the server"}[d] }

// Each single byte of a [Drip] takes dripDelay at least; there are dripBytes of them. A
// program of two megabytes would take an hour otherwise.
const (
	dripDelay = 100 * time.Microsecond
	dripBytes = 500
)

// A Fault is a fault of a connection, and its place: after Packets packets of SSH in a direction, counting each side's
// version line as one, and Bytes bytes after them; without Packets, after Bytes bytes from the begin.
type Fault struct {
	Kind      Kind
	Direction Direction
	Packets   int
	Bytes     int64
}

func (f Fault) String() string {
	return fmt.Sprintf("%s %s packet %d byte %d", f.Kind, f.Direction, f.Packets, f.Bytes)
}
