package dsc

import (
	"encoding/json"
	"io/fs"

	"gopkg.in/yaml.v3"
)

type fsFS = fs.FS

// yamlJSON stands for the controller, which reads YAML for a host.
func yamlJSON(text []byte) (json.RawMessage, error) {
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	return json.Marshal(plainKeys(v))
}

func plainKeys(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = plainKeys(v[key])
		}
	case map[any]any:
		m := map[string]any{}
		for key, item := range v {
			b, _ := json.Marshal(key)
			m[string(b)] = plainKeys(item)
		}
		return m
	case []any:
		for i := range v {
			v[i] = plainKeys(v[i])
		}
	}
	return v
}
