package schema_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema/schematest"
)

// upper is a type that reads itself from text.
type upper struct{ s string }

func (u *upper) UnmarshalText(b []byte) error { u.s = string(b); return nil }

type embedded struct {
	Note string `json:"note" doc:"<free> & \"text\""`
}

type inner struct {
	Deep string `json:"deep" required:"true"`
}

type subject struct {
	embedded
	Name     string            `json:"name" required:"true" looks:"^/" doc:"a path"`
	Ensure   string            `json:"ensure,omitempty" enum:"present,absent" default:"present"`
	Word     string            `json:"word" pattern:"^[a-z]+$"`
	Content  upper             `json:"content" also:"contents,text" doc:"the text"`
	Force    bool              `json:"force" default:"true"`
	Maybe    *bool             `json:"maybe"`
	Port     int               `json:"port" default:"22"`
	Small    uint8             `json:"small"`
	Ratio    float64           `json:"ratio"`
	Timeout  time.Duration     `json:"timeout"`
	Env      []string          `json:"env" enum:"a,b"`
	Codes    []int             `json:"codes" required:"true" also:"code"`
	Map      map[string]string `json:"map"`
	Free     any               `json:"free"`
	Inner    *inner            `json:"inner"`
	List     []inner           `json:"list"`
	Hidden   string            `json:"-"`
	Untagged string
}

var subjectType = reflect.TypeFor[subject]()

// checker compiles what rules make of the subject.
func checker(t *testing.T, r schema.Rules) schematest.Checker {
	s := r.Of(subjectType)
	s.Dialect, s.ID = schema.Dialect, "https://example.com/subject.json"
	return schematest.Compile(t, s)
}

// fits are values with whether a struct takes them, and whether it does when
// texts with a ? in them stand for anything.
var fits = []struct {
	text         string
	closed, open bool
}{
	{"{}", true, true},
	{"~", true, true},
	{"[]", false, false},
	{"x", false, false},
	{"unknown: 1", false, false},
	{"Hidden: x", false, false},
	{"Untagged: x", false, false},
	{"note: x", true, true},
	{"name: 5\nword: true\nensure: ~", true, true},
	{"name: [x]", false, false},
	{"name: x", false, false},
	{"name: ''", true, true},
	{"name: /x", true, true},
	{"name: x?", false, true},
	{"ensure: present", true, true},
	{"ensure: ''", true, true},
	{"ensure: gone", false, false},
	{"ensure: gone?", false, true},
	{"ensure: 5", false, false},
	{"word: abc", true, true},
	{"word: ABC", false, false},
	{"content: abc\nmap: {a: 1, b: x}", true, true},
	{"contents: abc", true, true},
	{"text: {a: b}", false, false},
	{"force: true\nmaybe: Off", true, true},
	{"force: 'true'", false, false},
	{"force: yEs", false, false},
	{"force: 1", false, false},
	{"force: '?'", false, true},
	{"port: 80\nsmall: 5\nratio: 0.5", true, true},
	{"port: '80'", false, false},
	{"port: 80.5", false, false},
	{"port: '80?'", false, true},
	{"ratio: x", false, false},
	{"timeout: 30s", true, true},
	{"timeout: [30s]", false, false},
	{"env: [a, b]", true, true},
	{"env: []", true, true},
	{"env: a", false, false},
	{"env: [c]", false, false},
	{"env: ['c?']", false, true},
	{"env: '?'", false, true},
	{"codes: [1, ~]\ncode: [2]", true, true},
	{"codes: [x]", false, false},
	{"codes: ['x?']", false, true},
	{"map: [a]", false, false},
	{"map: {a: [b]}", false, false},
	{"map: '?'", false, true},
	{"free: {a: [1]}", true, true},
	{"inner: {deep: x}\nlist: [{deep: x}, {}, ~]", true, true},
	{"inner: {dep: x}", false, false},
	{"inner: '?'", false, true},
	{"list: [x]", false, false},
	{"list: ['?']", false, true},
}

func TestOf(t *testing.T) {
	closed, open := checker(t, schema.Rules{}), checker(t, schema.Rules{Open: `\?`})
	for _, tt := range fits {
		t.Run(tt.text, func(t *testing.T) {
			require.Equal(t, tt.closed, closed.Check([]byte(tt.text)) == nil)
			require.Equal(t, tt.open, open.Check([]byte(tt.text)) == nil)
		})
	}
}

// TestDecoderAgrees runs the decoder on the same values: everything that it accepts, the schema accepts.
func TestDecoderAgrees(t *testing.T) {
	closed := checker(t, schema.Rules{})
	for _, text := range []string{
		"name: /a\nensure: absent\nword: x\ncontent: 5\nforce: NO\nport: 0x10\nratio: 2\ntimeout: 1h", "codes: [1, 0o17]\nmap: {1: 2}\nfree: ~", "maybe: False\nsmall: ~",
	} {
		documents, err := yamlpos.Parse("f.yml", []byte(text))
		require.NoError(t, err)
		require.NoError(t, yamlpos.Decode(documents[0], new(subject)))
		require.NoError(t, closed.Check([]byte(text)))
	}
}

func TestRequired(t *testing.T) {
	require.Equal(t, []string{"name"}, schema.Required(subjectType))
}

func TestEncode(t *testing.T) {
	type small struct {
		embedded
		Ensure  string `json:"ensure,omitempty" enum:"present,absent" default:"present"`
		Force   bool   `json:"force" default:"false"`
		Content upper  `json:"content" also:"text" doc:"the text"`
	}
	text, err := schema.Rules{Open: `\?`}.Of(reflect.TypeFor[small]()).Encode()
	require.NoError(t, err)
	require.Equal(t, `{
  "type": [
    "object",
    "null"
  ],
  "properties": {
    "note": {
      "description": "<free> & \"text\"",
      "type": [
        "string",
        "number",
        "boolean",
        "null"
      ]
    },
    "ensure": {
      "default": "present",
      "anyOf": [
        {
          "enum": [
            "present",
            "absent"
          ]
        },
        {
          "type": [
            "string",
            "null"
          ],
          "pattern": "^$|\\?"
        }
      ]
    },
    "force": {
      "default": false,
      "type": [
        "boolean",
        "string",
        "null"
      ],
      "pattern": "^(yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$|\\?"
    },
    "content": {
      "description": "the text",
      "type": [
        "string",
        "number",
        "boolean",
        "null"
      ]
    },
    "text": {
      "description": "another spelling of content",
      "type": [
        "string",
        "number",
        "boolean",
        "null"
      ]
    }
  },
  "additionalProperties": false
}
`, string(text))
}

func TestOfWhatCannotBeDecoded(t *testing.T) {
	type odd struct {
		C chan int `json:"c"`
	}
	require.PanicsWithValue(t, "schema: yamlpos decodes nothing into chan int", func() { schema.Rules{}.Of(reflect.TypeFor[odd]()) })
}
