package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// A number is a decimal one, exactly: digits × 10^exp. It is never written out, so
// that 1e999999999 costs no more than its text.
type number struct {
	text     string // as it is written
	negative bool
	digits   string // without zeros at either end; "" is zero
	exp      int64
}

// farthest bounds exponents, which JSON does not.
const farthest = 1 << 60

// numberOf reads a JSON number, or one of Go's.
func numberOf(v any) (n number, ok bool) {
	switch v.(type) {
	case json.Number, float32, float64, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return parseNumber(fmt.Sprint(v))
	}
	return number{}, false
}

// SameNumber reports whether two values are the same number, exactly, and whether the
// first is a number at all.
func SameNumber(v, w any) (same, isNumber bool) {
	n, isNumber := numberOf(v)
	m, ok := numberOf(w)
	return isNumber && ok && n.compare(m) == 0, isNumber
}

func parseNumber(text string) (n number, ok bool) {
	rest, negative := strings.CutPrefix(text, "-")
	mantissa := rest
	if at := strings.IndexAny(rest, "eE"); at >= 0 {
		mantissa = rest[:at]
		n.exp = exponent(rest[at+1:])
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if whole == "" || strings.Trim(digits, "0123456789") != "" {
		return number{}, false // infinite, or not a number
	}
	n.exp -= int64(len(fraction))
	n.digits = strings.TrimRight(digits, "0")
	n.exp += int64(len(digits) - len(n.digits))
	n.digits = strings.TrimLeft(n.digits, "0")
	if n.digits == "" {
		return number{text: text}, true
	}
	n.text = text
	n.negative = negative
	return n, true
}

func (n number) String() string { return n.text }

// exponent parses the digits after the e. Exponents beyond the limits become the limits.
func exponent(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // out of range returns the extreme value
	return min(max(n, -farthest), farthest)
}

// isWhole reports whether it has no fraction: 1.0 and 1e2 have none.
func (n number) isWhole() bool { return n.exp >= 0 }

func (n number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.negative:
		return -1
	}
	return 1
}

// compare returns a negative number if n is less than m, and 0 if they are equal.
func (n number) compare(m number) int {
	if n.sign() != m.sign() || n.sign() == 0 {
		return cmp.Compare(n.sign(), m.sign())
	}
	before := int64(len(n.digits)) + n.exp // digits before the point
	beforeM := int64(len(m.digits)) + m.exp
	switch {
	case before < beforeM:
		return -n.sign()
	case before > beforeM:
		return n.sign()
	}
	return n.sign() * strings.Compare(n.digits, m.digits)
}

// spendDivision spends what [number.multipleOf] takes with these numbers.
func (b *budget) spendDivision(n, of number) bool {
	blocks := (len(n.digits) + len(of.digits)) / 64
	return b.spendEach(blocks, blocks)
}

// multipleOf reports whether n is a whole multiple of a number above 0.
func (n number) multipleOf(of number) bool {
	if n.digits == "" {
		return true
	}
	dividend, divisor := integer(n.digits), integer(of.digits)
	switch by := n.exp - of.exp; {
	case by >= 0: // dividend·10^by mod divisor, without writing it out
		power := new(big.Int).Exp(big.NewInt(10), big.NewInt(by), divisor)
		dividend.Mul(dividend, power)
	case -by >= int64(len(n.digits)): // the divisor is longer than the dividend
		return false
	default:
		divisor.Mul(divisor, new(big.Int).Exp(big.NewInt(10), big.NewInt(-by), nil))
	}
	return dividend.Mod(dividend, divisor).Sign() == 0
}

func integer(digits string) *big.Int {
	n, _ := new(big.Int).SetString(digits, 10)
	return n
}

// count converts a whole number from 0 on to an int; numbers that are too large become math.MaxInt32.
func (n number) count() int {
	if int64(len(n.digits))+n.exp > 9 {
		return math.MaxInt32
	}
	i, _ := strconv.Atoi("0" + n.digits + strings.Repeat("0", int(n.exp)))
	return i
}
