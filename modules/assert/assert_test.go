package assert_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/assert"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestConverges(t *testing.T) {
	modtest.Converges(t, assert.Type(),
		modtest.Fixture{Name: "true", Properties: `{"name":"x","that":[true,true]}`},
		modtest.Fixture{Name: "false", Properties: `{"name":"enough memory","that":[true,false,true]}`, Err: "enough memory: condition 2 of \"that\" is false"},
		modtest.Fixture{Name: "with a message", Properties: `{"name":"x","that":[false],"message":"buy memory"}`, Err: "buy memory: condition 1 of \"that\" is false"},
		modtest.Fixture{Name: "as others call it", Properties: `{"name":"x","that":[false],"fail_msg":"buy memory"}`, Err: "buy memory: condition 1 of \"that\" is false"},
	)
}

func TestValidate(t *testing.T) {
	require.EqualError(t, (&assert.Assert{Name: "a\nb", That: []bool{true}}).Validate(), `name: "name" must be one line, without NUL bytes`)
	require.NoError(t, (&assert.Assert{Name: "x", Message: "a\nb"}).Validate())
}

func TestPredicts(t *testing.T) {
	modtest.Predicts(t, modules.Registry{assert.Type()}, modtest.Scenario{
		Steps: []modtest.Step{
			{Type: "assert", Properties: `{"name":"a","that":[true]}`},
			{Type: "assert", Properties: `{"name":"b","that":[false]}`},
			{Type: "assert", Properties: `{"name":"c","that":[true]}`, Require: []int{1}},
		},
		Want: []string{"stable", "failed", "skipped"},
	})
}

func TestDescribe(t *testing.T) {
	res := modtest.Decode(t, modules.Registry{assert.Type()}, "assert", `{"name":"x","that":[true,false]}`, "")
	modtest.Describes(t, modtest.Host(), res, `{"ensure":"present","name":"x","that":[true,false]}`)
}
