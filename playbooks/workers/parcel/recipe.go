package parcel

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ccm-push/ccm-push/inventory/sealed"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/extravars"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
)

// A Recipe describes how to make the plays of a run: from manifests, from the command line, or from the record of an
// earlier run.
type Recipe struct {
	Paths      []string            `json:"paths,omitempty"` // paths of manifests, as given, or their URLs without secrets
	Folder     string              `json:"folder"`
	Parameters string              `json:"parameters,omitempty"`
	Rollout    string              `json:"rollout,omitempty"`
	Hiera      *extravars.Document `json:"hiera,omitempty"`
	Selection  manifest.Selection  `json:"selection"`
	EnvFile    bool                `json:"env_file,omitempty"`
	AdHoc      *AdHoc              `json:"ad_hoc,omitempty"`
	Undo       []Undo              `json:"undo,omitempty"`
	Archives   []source.Unpacked   `json:"archives,omitempty"` // archives with manifests, also from URLs

	Sealed  *Sealed         `json:"-"` // encrypted values and files; nil means none
	Files   func() []string `json:"-"` // files that were read outside of the plays' folders; nil means none
	Without []string        `json:"-"` // files and folders that no worker gets: inventories, and the operator's own files
}

// An AdHoc is a resource of the command line, or a query of several resources.
type AdHoc struct {
	Pattern    string             `json:"pattern"`
	Type       string             `json:"type"`
	Query      string             `json:"query,omitempty"`
	Properties []yamlpos.Portable `json:"properties"`         // one item per resource
	Programs   string             `json:"programs,omitempty"` // see [manifest.Play]
	Alias      string             `json:"alias,omitempty"`    // see [manifest.Play.InSession], like Earlier

	Earlier map[string]manifest.Earlier `json:"earlier,omitempty"`
}

// NewAdHoc returns resources with these properties.
func NewAdHoc(pattern, typ, query string, properties ...map[string]any) *AdHoc {
	a := &AdHoc{Pattern: pattern, Type: typ, Query: query}
	for _, one := range properties {
		a.Properties = append(a.Properties, yamlpos.Portable{Node: yamlpos.From(&yamlpos.Node{File: "command line"}, one)})
	}
	return a
}

// An Undo is a play that reverts an earlier run, see [manifest.Undo].
type Undo struct {
	Name         string        `json:"name"`
	Become       *bool         `json:"become,omitempty"`
	BecomeUser   string        `json:"become_user,omitempty"`
	BecomeMethod string        `json:"become_method,omitempty"`
	Of           manifest.Undo `json:"of"`
}

// NewUndo returns the recipes of plays of the record.
func NewUndo(plays []*manifest.Play) (list []Undo) {
	for _, p := range plays {
		list = append(list, Undo{p.Name, p.Become, p.BecomeUser, p.BecomeMethod, *p.Undo})
	}
	return list
}

// Unpacker returns an unpacker for archives that an expression names, into folders below temp: they were not unpacked before the run.
func (r *Recipe) Unpacker(root, temp string) *source.Unpacker {
	u := &source.Unpacker{Temp: temp}
	for _, a := range r.Archives {
		if a.Folder = r.at(root, a.Folder); !source.IsURL(a.Name) {
			a.Name = r.at(root, a.Name)
		}
		u.Before = append(u.Before, a)
	}
	return u
}

// Plays makes the plays from the files that were unpacked below a folder.
func (r *Recipe) Plays(ctx context.Context, root string, registry modules.Registry, archives *source.Unpacker, ring *sealed.Ring) ([]*manifest.Play, error) {
	switch {
	case r.AdHoc != nil:
		return r.AdHoc.plays(r, root, registry)
	case r.Undo != nil:
		var plays []*manifest.Play
		for _, u := range r.Undo {
			plays = append(plays, &manifest.Play{Name: u.Name, Folder: root, Become: u.Become, BecomeUser: u.BecomeUser, BecomeMethod: u.BecomeMethod, Undo: &u.Of})
		}
		return plays, nil
	case len(r.Paths) == 0: // hosts are only queried
		return []*manifest.Play{}, nil
	}
	options := []load.Option{load.WithKeys(ring), load.WithArchives(archives), load.WithRoot(root)}
	if r.Parameters != "" {
		options = append(options, load.WithParameters(r.at(root, r.Parameters)))
	}
	if r.Rollout != "" {
		options = append(options, load.WithRollout(r.at(root, r.Rollout)))
	}
	var paths []string
	for _, path := range r.Paths {
		if !source.IsURL(path) {
			path = r.at(root, path)
		}
		paths = append(paths, path)
	}
	plays, err := load.Files(ctx, paths, registry, options...)
	if err != nil {
		return nil, err
	}
	return r.Selection.Select(plays)
}

func (a *AdHoc) plays(r *Recipe, root string, registry modules.Registry) ([]*manifest.Play, error) {
	t, known := registry.Lookup(a.Type)
	if !known {
		return nil, fmt.Errorf("unknown resource type %q here", a.Type)
	}
	var all []map[string]any
	for _, p := range a.Properties {
		one, _ := p.Any().(map[string]any)
		all = append(all, one)
	}
	play, err := load.AdHoc(a.Pattern, t, a.Query, all...)
	if err != nil {
		return nil, err
	}
	play.InSession(a.Alias, a.Earlier)
	play.Folder = r.at(root, play.Folder)
	if err := os.MkdirAll(play.Folder, 0o700); err != nil { // where no file of it is needed
		return nil, err
	}
	if a.Programs != "" {
		play.Programs = r.at(root, a.Programs)
	}
	return []*manifest.Play{play}, nil
}

// at returns where a path of the recipe is below a folder.
func (r *Recipe) at(root, path string) string { return filepath.Join(root, r.absolute(path)) }

func (r *Recipe) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(r.Folder, path)
}

// Names returns pairs of a path below a folder and its path on the machine of the recipe, the longest first.
func (r *Recipe) Names(root string) (pairs [][2]string) {
	for _, path := range r.Paths {
		if source.IsURL(path) {
			continue
		}
		given, _ := filepath.Split(path)
		pairs = append(pairs, [2]string{filepath.Dir(r.at(root, path)) + "/", given})
	}
	return append(pairs, [2]string{filepath.Join(root, r.Folder) + "/", ""}, [2]string{root, ""})
}
