package manifest

import (
	"slices"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/templates"
)

// A Resource is one entry of a manifest. With Each it stands for one resource
// per element.
type Resource struct {
	Type       modules.Type
	Name       Value
	Alias      *Value            // nil if it has none
	Require    *Value            // a list of references, type#name or type#alias; nil if not given
	Subscribe  *Value            // the same
	Before     *Value            // the same, of what comes later
	Notify     *Value            // the same
	Meta       *Value            // a map of the keys that come to a [Meta]; nil if none is given
	Recv       *Value            // a map of properties to what sends them on this host: type#name.key; nil if none is received
	If, Unless []*templates.Expr // of control: all of If, none of Unless
	Each       *Value            // a list; nil if it is a single resource
	Noop       *Value            // a boolean
	Sensitive  *Value            // a boolean
	Health     *Value            // a list of health checks; nil if it has none
	Registers  *Value            // a list of what is registered of it once it is stable; nil is nothing
	On         *Value            // the host where it runs; nil is the one that it is for
	Once       bool              // it runs for one host of a batch
	Query      string            // what it is asked instead of being checked and applied, ad hoc; "" usually
	Tags       []string
	Imports    []Import        // what it receives from other hosts
	Register   *yamlpos.Node   // the name of its result in expressions: a literal text; nil if it has none
	Exports    []*yamlpos.Node // the keys of what it gives to other hosts: literal texts
	Strict     bool            // properties with defaults that depend on the host must be given
	Unselected bool            // the run is not about it: see [Selection]
	// BeforeStart says that the resource is before the one that --start-at names.
	BeforeStart bool
	// Refresh says what happens to an unselected resource that is to be refreshed; "" if nothing can refresh it.
	Refresh    wire.Unselected
	Properties Value         // a map of the type's own properties, without the name
	Defaults   *yamlpos.Node // of its list and play, some of which are among its properties; nil if there are none
	// Child is the manifest that the resource applies; nil if it applies none, or one
	// that is known only per host. See [Play.Nested].
	Child *Play
	// OnlyWithin says that the resource itself is not selected, only what it applies.
	OnlyWithin bool

	// Block is set if the resource is a block: then Child is made of what stands in it.
	Block *Block
	// In is the block that the resource stands in; nil if it stands in none.
	In *Resource

	// Manifest is what the resource applies, as written: a URL may hold a password. It
	// is "" if it applies nothing.
	Manifest string
	// Conditional says that the resource stands in a manifest that not every host applies.
	Conditional bool
}

// Ref is how the manifest calls the resource.
func (r *Resource) Ref() string { return r.Type.Name + "#" + r.Name.Node.Text }

// LeftOut reports whether the run has nothing to do with the resource: it is not selected, and cannot be
// refreshed.
func (r *Resource) LeftOut() bool { return r.Unselected && r.Refresh == "" }

// mayRefresh reports whether another resource may refresh this one, or one of the manifest that it applies.
// If anything in the plays has notify, every resource with a refresh may be meant.
func (r *Resource) mayRefresh(notifies bool) bool {
	if r.Unknown() {
		return true
	}
	if r.Child != nil {
		return slices.ContainsFunc(r.Child.Resources, func(one *Resource) bool { return one.Refresh != "" })
	}
	if r.Subscribe == nil && !notifies || r.hidden() {
		return false
	}
	_, ok := r.Type.New().(modules.Refresher)
	return ok
}

// DependsOnHost reports whether the resource's names are known only per host.
func (r *Resource) DependsOnHost() bool {
	return r.Each != nil || r.Name.HasExpressions() || r.Alias != nil && r.Alias.HasExpressions()
}

// Open reports whether n, a scalar of any part of the resource, is an expression.
func (r *Resource) Open(n *yamlpos.Node) bool {
	return slices.ContainsFunc(r.values(), func(v *Value) bool { return v != nil && v.Open(n) })
}

// conditions are all that control names.
func (r *Resource) conditions() []*templates.Expr { return slices.Concat(r.If, r.Unless) }

// values lists the parts that may hold expressions; those not given are nil.
func (r *Resource) values() []*Value {
	return []*Value{&r.Name, r.Alias, r.Require, r.Subscribe, r.Before, r.Notify, r.Meta, r.Recv, r.Each, r.Noop, r.Sensitive, r.Health, r.Registers, r.On, &r.Properties}
}

// An Import is a property that a resource receives from a resource of another host.
// Host and From are literal texts: only the manifest says which host gives a value to
// which, so no fact can lead a value to a host that it is not meant for.
type Import struct {
	Property string        // of the receiver
	Host     *yamlpos.Node // the name of the other host in the inventory
	From     *yamlpos.Node // as it is written: "exec#token.stdout"
	Ref      string        // the resource, by name or alias: "exec#token"
	Key      string        // of its value: "stdout"
}

// PropertySet is the properties of the resource, as they are written.
func (r *Resource) PropertySet() PropertySet {
	return PropertySet{Type: r.Type, Name: r.Name.Node, Node: r.Properties.Node, Strict: r.Strict}
}

// ValidateStrict is beside [modules.Resource.Validate] what a strict play asks for.
func (r *Resource) ValidateStrict(res modules.Resource) error { return validateStrict(res, r.Strict) }

func validateStrict(res modules.Resource, strict bool) error {
	if s, ok := res.(modules.Strict); ok && strict {
		return s.ValidateStrict()
	}
	return nil
}

// Positioned turns the property errors of a resource into errors with the
// positions of the properties in props.
func Positioned(r *Resource, props *yamlpos.Node, err error) error {
	return PropertySet{Type: r.Type, Name: r.Name.Node, Node: props}.Place(err)
}

// Unconditional reports whether every host needs what the resource names.
func (r *Resource) Unconditional() bool {
	return len(r.conditions()) == 0 && r.Each == nil && !r.Conditional
}

// NeedsFull reports whether a host that the play is for needs the full host
// program for this resource, as far as can be told without the host: what control
// or each decides is left out, and properties that are open count as not given.
func (r *Resource) NeedsFull() bool {
	if r.Unselected || !r.Unconditional() {
		return false
	}
	if r.Child != nil && slices.ContainsFunc(r.Child.Resources, (*Resource).NeedsFull) {
		return true
	}
	if r.hasRules() {
		return true
	}
	return r.Requirements().FullProgram
}

// Requirements are what the resource takes besides its properties, as far as can be told
// without a host: properties that are open count as not given.
func (r *Resource) Requirements() modules.Requirements {
	res := r.Type.New()
	if _, ok := res.(modules.Requirer); !ok {
		return modules.Requirements{}
	}
	// What does not fit has been reported.
	_ = yamlpos.Decode(r.Properties.Node, res, yamlpos.Open(r.Properties.Open))
	modules.SetName(res, r.Name.Node.Text)
	modules.SetDefaults(res)
	return modules.RequirementsOf(res)
}

// hidden reports whether the resource is written as one that is never carried out.
func (r *Resource) hidden() bool {
	if r.Meta == nil {
		return false
	}
	hidden := r.Meta.Node.Get("hidden")
	return hidden != nil && hidden.Value == true
}

// Watch is what the resource itself says of watching, unresolved; nil if it says nothing.
func (r *Resource) Watch() *yamlpos.Node {
	if r.Meta == nil {
		return nil
	}
	return keys.Given(r.Meta.Node.Get("watch"))
}

// hasRules reports whether a health check of the resource is made of rules of
// goss, as far as it is written as one.
func (r *Resource) hasRules() bool {
	return r.Health != nil && slices.ContainsFunc(r.Health.Node.Items, func(n *yamlpos.Node) bool { return keys.Given(n.Get("goss_rules")) != nil })
}
