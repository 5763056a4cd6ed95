package jinja

import (
	"crypto/sha512"
	"math/big"
	"slices"
)

// A twister is the generator of random numbers of Python (MT19937, Matsumoto and Nishimura), seeded as Python does: equal
// seeds return the same numbers in each run.
type twister struct {
	state [624]uint32
	at    int
}

func newTwister(seed *big.Int) *twister {
	var key []uint32
	n := new(big.Int).Abs(seed)
	mask := big.NewInt(0xffffffff)
	for n.Sign() > 0 {
		key = append(key, uint32(new(big.Int).And(n, mask).Uint64()))
		n = new(big.Int).Rsh(n, 32)
	}
	if len(key) == 0 {
		key = []uint32{0}
	}
	t := &twister{at: 624}
	s := &t.state
	s[0] = 19650218
	for i := 1; i < 624; i++ {
		s[i] = 1812433253*(s[i-1]^s[i-1]>>30) + uint32(i)
	}
	i, j := 1, 0
	next := func() {
		if i++; i == 624 {
			s[0], i = s[623], 1
		}
	}
	for range max(624, len(key)) {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1664525) + key[j] + uint32(j)
		next()
		if j++; j == len(key) {
			j = 0
		}
	}
	for range 623 {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1566083941) - uint32(i)
		next()
	}
	s[0] = 1 << 31
	return t
}

func (t *twister) next() uint32 {
	s := &t.state
	if t.at == 624 {
		for i := range 624 {
			y := s[i]&(1<<31) | s[(i+1)%624]&(1<<31-1)
			s[i] = s[(i+397)%624] ^ y>>1
			if y&1 == 1 {
				s[i] ^= 0x9908b0df
			}
		}
		t.at = 0
	}
	y := s[t.at]
	t.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// below returns a number from 0 to n-1.
func (t *twister) below(n int64) int64 {
	bits := big.NewInt(n).BitLen()
	for {
		var r uint64
		if bits <= 32 {
			r = uint64(t.next() >> (32 - bits))
		} else {
			r = uint64(t.next())
			r |= uint64(t.next()>>(64-bits)) << 32
		}
		if r < uint64(n) {
			return int64(r)
		}
	}
}

// seeded returns the generator of a seed. Without one, each run would give another result.
func (c *call) seeded(i int) *twister {
	switch seed := c.value(i, nil).(type) {
	case string:
		sum := sha512.Sum512([]byte(seed))
		return newTwister(new(big.Int).SetBytes(append([]byte(seed), sum[:]...)))
	case int64:
		return newTwister(big.NewInt(seed))
	case nil:
		c.failf("without a seed, each run gives another result; write seed=inventory_hostname")
	default:
		c.failf("the seed is a str or an int")
	}
	return nil
}

func random(c *call) any {
	r := c.seeded(3)
	if end, ok := small(c.bound[0]); ok {
		start, step := c.int(1, 0), c.int(2, 1)
		if step == 0 {
			step = 1
		}
		n := span{start, end, step}.len()
		if n <= 0 {
			c.failf("the range is empty")
		}
		return start + step*r.below(int64(n))
	}
	if _, isDict := c.bound[0].(*dict); isDict {
		c.failf("a list is needed, not dict")
	}
	items := c.items(0)
	if len(items) == 0 || c.has(1) && c.truth(1, false) {
		c.failf("a list with elements is needed, without start")
	}
	return items[r.below(int64(len(items)))]
}

func shuffle(c *call) any {
	items := slices.Clone(c.items(0))
	r := c.seeded(1)
	for i := len(items) - 1; i > 0; i-- {
		j := r.below(int64(i + 1))
		items[i], items[j] = items[j], items[i]
	}
	return c.x.newList(items)
}
