package jinja

import (
	"math"
	"math/big"
)

// The last digit of Go's math.Pow and math.Log is wrong more often than in the C library, which Python uses. So log and
// pow compute with more digits, and round once.

const digits = 160 // bits

func bigFloat(f float64) *big.Float { return new(big.Float).SetPrec(digits).SetFloat64(f) }

// logarithmOf returns ln of a positive, finite number.
func logarithmOf(f float64) *big.Float {
	mantissa, exponent := math.Frexp(f)
	if mantissa < math.Sqrt2/2 {
		mantissa, exponent = mantissa*2, exponent-1
	}
	ln := atanhSeries(bigFloat(mantissa))
	two := atanhSeries(bigFloat(2))
	return ln.Add(ln, two.Mul(two, bigFloat(float64(exponent))))
}

// atanhSeries returns ln m = 2 artanh((m-1)/(m+1)) for m near 1.
func atanhSeries(m *big.Float) *big.Float {
	one := bigFloat(1)
	z := new(big.Float).Quo(new(big.Float).Sub(m, one), new(big.Float).Add(m, one))
	square, power, sum := new(big.Float).Mul(z, z), new(big.Float).Copy(z), bigFloat(0)
	for n := 1.0; n < 220; n += 2 {
		sum.Add(sum, new(big.Float).Quo(power, bigFloat(n)))
		power.Mul(power, square)
	}
	return sum.Mul(sum, bigFloat(2))
}

// exponential returns e to the power of v, which is less than 800 in size.
func exponential(v *big.Float) float64 {
	approx, _ := v.Float64()
	k := math.Round(approx / math.Ln2)
	two := atanhSeries(bigFloat(2))
	rest := new(big.Float).Sub(v, two.Mul(two, bigFloat(k)))
	sum, term := bigFloat(1), bigFloat(1)
	for n := 1.0; n < 50; n++ {
		term.Mul(term, rest)
		term.Quo(term, bigFloat(n))
		sum.Add(sum, term)
	}
	f, _ := sum.SetMantExp(sum, int(k)).Float64()
	return f
}

// log is math.log of Python.
func log(f float64) float64 {
	if f <= 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return math.Log(f)
	}
	r, _ := logarithmOf(f).Float64()
	return r
}

// pow is math.pow of Python.
func pow(f, g float64) float64 {
	rough := math.Pow(f, g)
	if math.IsInf(rough, 0) || math.IsNaN(rough) || rough == 0 || f == 0 || math.IsInf(f, 0) || math.IsInf(g, 0) || g == 0 {
		return rough
	}
	return math.Copysign(exponential(new(big.Float).Mul(logarithmOf(math.Abs(f)), bigFloat(g))), rough)
}
