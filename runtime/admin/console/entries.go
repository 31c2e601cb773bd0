package console

// addEntry puts a tool into a catalog. Any name that a tool can have gets the same answer, so that
// nobody learns from it which tools there are.
func (v *visit) addEntry() error {
	c, err := v.catalog()
	if err != nil {
		return err
	}
	tool, module := v.field("tool"), v.field("module")
	if _, err = v.store.AddEntry(v.ctx, c.Scope, c.ID, tool, module, v.by()); err == nil {
		return v.back(catalogPath(c.ID), "entry-added")
	}
	if !retyped(err) {
		return err
	}
	p, pageErr := v.catalogPage(c)
	if pageErr != nil {
		return pageErr
	}
	p.Tool, p.Module = tool, module
	return v.refused(err, "catalog", page{Title: c.Name, Here: "catalogs", Data: p}, ruleTool,
		"This tool is already in the catalog.")
}

func (v *visit) removeEntry() error {
	c, err := v.catalog()
	if err != nil {
		return err
	}
	if err = v.store.RemoveEntry(v.ctx, c.Scope, c.ID, v.field("tool"), v.by()); err == nil {
		return v.back(catalogPath(c.ID), "entry-removed")
	}
	if !retyped(err) {
		return err
	}
	p, pageErr := v.catalogPage(c)
	if pageErr != nil {
		return pageErr
	}
	return v.refused(err, "catalog", page{Title: c.Name, Here: "catalogs", Data: p}, ruleTool, "")
}
