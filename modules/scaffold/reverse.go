package scaffold

import "path"

// Subjects implements [modules.SubjectNamer].
func (s *Scaffold) Subjects() []string {
	all := []string{s.Name}
	if s.Tree != nil {
		for i := range s.Tree.Nodes {
			all = append(all, path.Join(s.Name, s.Tree.Nodes[i].Path))
		}
	}
	return all
}
