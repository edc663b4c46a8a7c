from relprev.simulate.places import Places, own_name


def test_paths_stay_below_the_folder():
    assert own_name("~/data/visits.csv") == "visits.csv"
    assert own_name("a/../../visits.csv") == "visits.csv"
    assert own_name("/") == "data"


def test_a_file_about_the_data_is_copied_and_the_original_stays(tmp_path):
    study, dummy = tmp_path / "study", tmp_path / "dummy"
    (study / "sets").mkdir(parents=True)
    (study / "sets" / "asthma.json").write_text("{}")
    copy = Places(study, dummy).copied("sets/asthma.json")
    assert copy == dummy / "sets" / "asthma.json"
    assert copy.read_text() == (study / "sets" / "asthma.json").read_text() == "{}"
