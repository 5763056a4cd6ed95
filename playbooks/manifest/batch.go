package manifest

import (
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// A BatchSize is how many hosts a batch has: a number, or a share of the play's
// hosts.
type BatchSize struct {
	Count   int
	Percent float64 // used when Count is 0
}

// Of gives the size in hosts of n: at least 1.
func (b BatchSize) Of(n int) int {
	if b.Count > 0 {
		return b.Count
	}
	return max(1, int(b.Percent/100*float64(n)))
}

// ParseBatchSize reads a number of hosts or a percentage; ok says whether n is one.
func ParseBatchSize(n *yamlpos.Node) (size BatchSize, ok bool) {
	if n.Kind != yamlpos.Scalar {
		return BatchSize{}, false
	}
	if share, isShare := strings.CutSuffix(n.Text, "%"); isShare {
		percent, err := strconv.ParseFloat(share, 64)
		return BatchSize{Percent: percent}, err == nil && percent > 0 && percent <= 100
	}
	count, err := strconv.Atoi(n.Text)
	return BatchSize{Count: count}, err == nil && count > 0
}
