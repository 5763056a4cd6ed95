package ansible

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// floatOf writes a number that is no int64, see [Float]. Integers are never rounded.
func floatOf(n *yamlpos.Node, v float64) string {
	if !n.Computed && isInteger(n.Text) {
		return strings.TrimPrefix(n.Text, "+")
	}
	return Float(v)
}

// Float writes a number as repr does: shortest, and with an exponent from 1e16 on
// and below 1e-4. Those that are none are Infinity, -Infinity and NaN, as json.dumps
// has them.
func Float(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	text := strconv.FormatFloat(v, 'e', -1, 64)
	_, exponent, _ := strings.Cut(text, "e")
	if e, _ := strconv.Atoi(exponent); e >= -4 && e < 16 {
		text = strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
	}
	return text
}

// isInteger reports whether a text is a decimal integer as JSON has them.
func isInteger(text string) bool {
	return json.Valid([]byte(strings.TrimPrefix(text, "+"))) && strings.Trim(text, "+-0123456789") == ""
}
