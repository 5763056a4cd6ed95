package main

import (
	"encoding/json"
	"maps"

	"github.com/ccm-push/ccm-push/modules/dsc/expr"
	"github.com/ccm-push/ccm-push/playbooks/document"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// documents are the configuration documents among plays, for reports.
type documents struct {
	instances map[instanceKey]events.DSCInstance
	outputs   map[string]any
}

// An instanceKey is how events call an instance.
type instanceKey struct{ play, entryType, name string }

func newDocuments(plays []*manifest.Play) documents {
	d := documents{instances: map[instanceKey]events.DSCInstance{}, outputs: map[string]any{}}
	for _, p := range plays {
		if p.Configuration == nil {
			continue
		}
		maps.Copy(d.outputs, p.Configuration.Known)
		for _, i := range p.Configuration.Instances {
			d.instances[instanceKey{p.Name, i.Entry, i.Name}] = events.DSCInstance{
				Type: i.Type, Name: i.Name, Desired: desired(i), Outputs: i.Output,
			}
		}
	}
	return d
}

// Instance implements [events.DSCSource].
func (d documents) Instance(play, entryType, name string) (events.DSCInstance, bool) {
	i, ok := d.instances[instanceKey{play, entryType, name}]
	return i, ok
}

// Outputs implements [events.DSCSource].
func (d documents) Outputs() map[string]any { return d.outputs }

// desired gives the properties of an instance without what is secure. What only the
// host can evaluate stays an expression.
func desired(i *document.Instance) json.RawMessage {
	if i.Properties == nil || i.Secure && i.BuiltIn {
		return nil
	}
	b, err := json.Marshal(expr.Redacted(i.Properties.Any()))
	if err != nil {
		return nil
	}
	return b
}
