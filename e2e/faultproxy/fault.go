package faultproxy

import (
	"fmt"
	"time"
)

// A Kind is what becomes of a connection.
type Kind int

// What can become of a connection.
const (
	None      Kind = iota
	Cut            // both sides see an end, as if the other one had closed it
	Reset          // both sides see a reset
	HalfClose      // who reads in this direction sees an end; the other direction goes on
	Stall          // it stays open, and nothing passes any more, not even an end
	Drip           // the next bytes pass one by one
)

// Kinds are all that can become of a connection.
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

// A Fault is what becomes of a connection, and where: when so many packets of SSH have passed
// in a direction, counting what each side says first as one, and so many bytes behind them;
// without Packets, so many bytes from the beginning.
type Fault struct {
	Kind      Kind
	Direction Direction
	Packets   int
	Bytes     int64
}

func (f Fault) String() string {
	return fmt.Sprintf("%s %s packet %d byte %d", f.Kind, f.Direction, f.Packets, f.Bytes)
}
