package hostfacts

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/facts/gather"
)

// BenchmarkDecode reads what this machine says of itself: of each kind, and with the
// processors of a large one.
func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name       string
		collectors []string
		processors int
	}{
		{"host", []string{facts.Host}, 0},
		{"all", facts.Names(), 0},
		{"768 processors", []string{facts.CPU}, 768},
	} {
		b.Run(c.name, func(b *testing.B) {
			report := reportOf(b, c.collectors, c.processors)
			b.SetBytes(int64(len(report)))
			b.ReportAllocs()
			for b.Loop() {
				_, _, err := Decode(report)
				require.NoError(b, err)
			}
		})
	}
}

// reportOf is the report of this machine, whose first processor stands for n if that
// is not 0.
func reportOf(t testing.TB, collectors []string, n int) json.RawMessage {
	text, err := gather.Gather(context.Background(), collectors, gather.Options{})
	require.NoError(t, err)
	if n == 0 {
		return text
	}
	var report facts.Report
	require.NoError(t, json.Unmarshal(text, &report))
	var cpu struct {
		Info []json.RawMessage `json:"info"`
	}
	require.NoError(t, json.Unmarshal(report.Facts[facts.CPU], &cpu))
	one := cpu.Info[0]
	cpu.Info = nil
	for range n {
		cpu.Info = append(cpu.Info, one)
	}
	report.Facts[facts.CPU], err = json.Marshal(cpu)
	require.NoError(t, err)
	text, err = json.Marshal(report)
	require.NoError(t, err)
	return text
}
