package jinja_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates/jinja"
	"github.com/ccm-push/ccm-push/templates/render"
)

// TestFiltersAsRecorded has what ansible-core gives for each filter, on values of every kind: what
// is not refused is the same. TestAnsibleFilters of e2e records it.
func TestFiltersAsRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/filters.json")
	require.NoError(t, err)
	var recorded struct {
		Variables map[string]any
		Answers   map[string]struct {
			Value any
			Error bool
		}
	}
	require.NoError(t, json.Unmarshal(text, &recorded))
	variables := integers(recorded.Variables).(map[string]any)
	given := 0
	for expression, answer := range recorded.Answers {
		parsed, err := jinja.Parse("{{ "+expression+" }}", at)
		require.NoError(t, err, expression)
		got, err := parsed.Settle(render.New(t.Context(), &render.Env{Data: variables}))
		if err != nil {
			continue
		}
		given++
		require.False(t, answer.Error, "%s: Ansible refuses it", expression)
		require.Equal(t, integers(answer.Value), got, expression)
	}
	require.Greater(t, given, len(recorded.Answers)/2)
}

// integers makes int64 of whole numbers: JSON does not tell which they are.
func integers(v any) any {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) {
			return int64(v)
		}
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = integers(v[key])
		}
	}
	return v
}
