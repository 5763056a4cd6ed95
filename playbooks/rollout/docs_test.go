package rollout

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	numberRow = regexp.MustCompile("(?m)^\\| `([a-z_]+): (.*)` \\| (\\d+) .* \\| ([\\d, ]+) \\|$")
	limitOf   = regexp.MustCompile(`^\{[a-z]+: (.*)\}$`)
)

// TestNumbersOfThePage works out the numbers of docs/guide/rollout-rules.md.
func TestNumbersOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/guide/rollout-rules.md")
	require.NoError(t, err)
	rows := numberRow.FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(rows), 10)
	for _, row := range rows {
		of, err := strconv.Atoi(row[3])
		require.NoError(t, err)
		got := ""
		switch key, value := row[1], row[2]; key {
		case "batches":
			got = sizesOf(t, strings.Split(strings.Trim(value, "[]"), ", "), of, strings.HasPrefix(value, "["))
		case "stop":
			value = limitOf.FindStringSubmatch(value)[1]
			fallthrough
		default:
			got = strconv.Itoa(written(t, value).Down(of))
		}
		require.Equal(t, row[4], got, row[0])
	}
}

// sizesOf returns the batch sizes for a number of hosts, or the size of the first batch.
func sizesOf(t *testing.T, list []string, hosts int, all bool) string {
	var rules Rules
	for _, text := range list {
		rules.Batches = append(rules.Batches, written(t, text))
	}
	if !all {
		return strconv.Itoa(rules.Batches[0].Up(hosts))
	}
	var play []Host
	for i := range hosts {
		play = append(play, Host{Name: fmt.Sprint(i), Changes: true})
	}
	var got []string
	for _, batch := range NewPlan(rules, play, Options{}).Batches {
		got = append(got, strconv.Itoa(len(batch)))
	}
	return strings.Join(got, ", ")
}

// written reads an amount as it is written.
func written(t *testing.T, text string) Amount {
	share, isShare := strings.CutSuffix(text, "%")
	number, err := strconv.ParseFloat(share, 64)
	switch {
	case text == "rest":
		return Amount{Rest: true}
	case isShare:
		require.NoError(t, err)
		return Amount{Percent: number}
	}
	require.NoError(t, err)
	return Amount{Count: int(number)}
}
